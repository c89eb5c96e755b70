import type { AuditGeneration } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { ArchiveSearch } from "../../search/archive-search.ts";
import { localFiles } from "@reprise/facts/tables";
import { type ReadingValues, recordAccess, withReading } from "./access.ts";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { archiveDir, openArchiveCopy, openKeyringCopy } from "../options.ts";
import { type SearchValues, toRecordedQuery, toSearch, withSearch } from "../search-options.ts";

/** Lists generations. It needs the keys only for metadata and subjects, which are kept as keyed hashes. */
export const search: MakeCommand = (io) =>
  withReading(withSearch(new Command("search")))
    .description("lists generations, newest first")
    .option("--limit <n>", "at most this number, 1 to 1000; default: 100")
    .option("--after <place>", "continues where a list has ended")
    .option("--json", "a line of JSON for each, as the HTTP API has it")
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends ReadingValues, SearchValues {
  readonly json?: true;
}

async function run(values: Values, io: CommandIo): Promise<number> {
  const query = toSearch(values);
  const archive = await openArchiveCopy(values, io.env);
  await recordAccess(values.nats, { ...query, call: "search", query: toRecordedQuery(query) }, io);
  await using found = new ArchiveSearch({
    archive,
    keyring: {
      tag: async (tenant, text) => (await openKeyringCopy(values, io.env)).tag(tenant, text),
    },
    files: localFiles(archiveDir(values, io.env)),
  });
  const { data, next } = await found.search(query);
  for (const one of data) await writeLine(io.out, values.json ? JSON.stringify(one) : toLine(one));
  if (next !== undefined) await writeLine(io.err, `There are more: --after ${next}`);
  return EXIT.fine;
}

function toLine({ created_at, id, status, events, model, erased_at }: AuditGeneration): string {
  const erased = erased_at === undefined ? "" : `  erased ${erased_at}`;
  return `${created_at}  ${id}  ${status.padEnd(9)}  ${String(events).padStart(7)} events  ${model}${erased}`;
}
