import { ArchiveReader } from "@reprise/archive";
import { RepriseError } from "@reprise/protocol";
import { type CommandIo, parseOptions, required } from "@reprise/service";
import { EXPORT_FORMATS, type ExportFormat, writeExport } from "../../exporting/export-file.ts";
import { exportGenerations, type ExportOutcome } from "../../exporting/export-generations.ts";
import { ArchiveSearch } from "../../search/archive-search.ts";
import { localFiles } from "@reprise/tables";
import { READING_OPTIONS, READING_USAGE, recordAccess } from "./access.ts";
import { type Command, EXIT, writeLine } from "../command.ts";
import { archiveDir, openArchiveCopy, openKeyringCopy } from "../options.ts";
import { SEARCH_OPTIONS, SEARCH_USAGE, toRecordedQuery, toSearch } from "../search-options.ts";

const LISTED_AT_A_TIME = "1000";

/** Writes the events of many generations into one file. Ends with `EXIT.gap` when events of some are not in the archive. */
export const exportEvents: Command = {
  summary: "writes the events of generations into a file",
  usage: `${SEARCH_USAGE}
  --out <file>                must not be there yet; only you may read it
  --format parquet|ndjson     default: parquet for a name that ends so, or ndjson
  --original                  what was generated, and the request; default: what a reader is shown who comes now
${READING_USAGE}`,
  async run(args, io) {
    const { values } = parseOptions(args, {
      ...READING_OPTIONS,
      ...SEARCH_OPTIONS,
      out: { type: "string" },
      format: { type: "string" },
      original: { type: "boolean", default: false },
    });
    const query = toSearch({ ...values, limit: LISTED_AT_A_TIME });
    const path = required(values.out, "out");
    const format = parseFormat(values.format ?? (path.endsWith(".parquet") ? "parquet" : "ndjson"));
    const archive = await openArchiveCopy(values, io.env);
    const keyring = await openKeyringCopy(values, io.env);
    const asked = { ...toRecordedQuery(query), format, original: String(values.original) };
    await recordAccess(values.nats, { ...query, call: "export", query: asked }, io);
    const reader = new ArchiveReader({ archive, keyring });
    await using search = new ArchiveSearch({
      archive,
      keyring,
      files: localFiles(archiveDir(values, io.env)),
    });
    const outcome = await writeExport(path, format, (file) =>
      exportGenerations({ reader, search, query, original: values.original }, file),
    );
    return report(outcome, path, io);
  },
};

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
