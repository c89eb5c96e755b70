import { ArchiveReader } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import type { CommandIo } from "@reprise/runtime";
import { Command } from "commander";
import { EXPORT_FORMATS, type ExportFormat, writeExport } from "../../exporting/export-file.ts";
import { exportGenerations, type ExportOutcome } from "../../exporting/export-generations.ts";
import { ArchiveSearch } from "../../search/archive-search.ts";
import { localFiles } from "@reprise/facts/tables";
import { type ReadingValues, recordAccess, withReading } from "./access.ts";
import { EXIT, type MakeCommand, writeLine } from "../command.ts";
import { archiveDir, openArchiveCopy, openKeyringCopy } from "../options.ts";
import { type SearchValues, toRecordedQuery, toSearch, withSearch } from "../search-options.ts";

const LISTED_AT_A_TIME = "1000";

/** Writes the events of many generations into one file. Ends with `EXIT.gap` when events of some are not in the archive. */
export const exportEvents: MakeCommand = (io) =>
  withReading(withSearch(new Command("export")))
    .description("writes the events of generations into a file")
    .requiredOption("--out <file>", "must not exist yet; only you may read it")
    .option("--format <format>", "parquet or ndjson; default: parquet for a name that ends so, or ndjson")
    .option(
      "--original",
      "what was generated, and the request; default: what a reader is shown who comes now",
    )
    .action(async (values: Values) => {
      io.exitCode = await run(values, io);
    });

interface Values extends ReadingValues, SearchValues {
  readonly out: string;
  readonly format?: string;
  readonly original?: true;
}

async function run(values: Values, io: CommandIo): Promise<number> {
  const query = toSearch({ ...values, limit: LISTED_AT_A_TIME });
  const { out: path, original = false } = values;
  const format = parseFormat(values.format ?? (path.endsWith(".parquet") ? "parquet" : "ndjson"));
  const archive = await openArchiveCopy(values, io.env);
  const keyring = await openKeyringCopy(values, io.env);
  const asked = { ...toRecordedQuery(query), format, original: String(original) };
  await recordAccess(values.nats, { ...query, call: "export", query: asked }, io);
  const reader = new ArchiveReader({ archive, keyring });
  await using search = new ArchiveSearch({
    archive,
    keyring,
    files: localFiles(archiveDir(values, io.env)),
  });
  const outcome = await writeExport(path, format, (file) =>
    exportGenerations({ reader, search, query, original }, file),
  );
  return await report(outcome, path, io);
}

async function report(
  { generations, events, erased, incomplete }: ExportOutcome,
  path: string,
  { out, err }: CommandIo,
): Promise<number> {
  await writeLine(out, `${path}: ${events} events of ${generations} generations`);
  for (const id of erased) await writeLine(err, `${id} was erased: nothing of it can be read`);
  for (const id of incomplete) await writeLine(err, `${id} lacks events: nothing of it was written`);
  return incomplete.length > 0 ? EXIT.gap : EXIT.fine;
}

/** @throws RepriseError `invalid_request` */
function parseFormat(value: string): ExportFormat {
  const format = EXPORT_FORMATS.find((one) => one === value);
  if (format) return format;
  throw new RepriseError("invalid_request", `--format must be ${EXPORT_FORMATS.join(" or ")}.`);
}
