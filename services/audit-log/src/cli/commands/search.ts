import type { AuditSummary } from "@reprise/protocol";
import { parseOptions } from "@reprise/service";
import { ArchiveSearch } from "../../search/archive-search.ts";
import { localFiles } from "@reprise/tables";
import { READING_OPTIONS, READING_USAGE, recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "../command.ts";
import { archiveDir, openArchiveCopy, openKeyringCopy } from "../options.ts";
import { SEARCH_OPTIONS, SEARCH_USAGE, toRecordedQuery, toSearch } from "../search-options.ts";

/** Lists generations. It needs the keys only for metadata and subjects, which are kept as keyed hashes. */
export const search: Command = {
  summary: "lists generations, newest first",
  usage: `${SEARCH_USAGE}
  --limit <n>                 at most so many, 1 to 1000; default: 100
  --after <place>             goes on where a list has ended
  --json                      a line of JSON for each, as the HTTP API has it
${READING_USAGE}`,
  async run(args, io) {
    const { values } = parseOptions(args, {
      ...READING_OPTIONS,
      ...SEARCH_OPTIONS,
      limit: { type: "string" },
      after: { type: "string" },
      json: { type: "boolean", default: false },
    });
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
  },
};

function toLine({ created_at, id, status, events, model, erased_at }: AuditSummary): string {
  const erased = erased_at === undefined ? "" : `  erased ${erased_at}`;
  return `${created_at}  ${id}  ${status.padEnd(9)}  ${String(events).padStart(7)} events  ${model}${erased}`;
}
