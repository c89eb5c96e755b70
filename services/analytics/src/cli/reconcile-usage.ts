import { parseTenantId, RepriseError, unixNow } from "@reprise/protocol";
import { parseOptions } from "@reprise/service";
import type { Difference } from "../reconcile/difference.ts";
import { reconcile } from "../reconcile/reconcile.ts";
import type { TimeWindow } from "../reconcile/time-windows.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { openRecords, RECORDS_USAGE, RECORD_OPTIONS } from "./open-records.ts";
import { toReport } from "./report.ts";

const OPTIONS = {
  ...RECORD_OPTIONS,
  from: { type: "string" },
  to: { type: "string" },
  tenant: { type: "string" },
  json: { type: "boolean" },
} as const;

const US_PER_MS = 1_000;
const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;
/** Differences that are listed; all are counted. */
const MOST_LISTED = 1_000;

/** Whether rows, usage files and the archive say the same of what was used. Reads only. */
export const reconcileUsage: Command = {
  summary:
    "whether usage, computed anew from the archive, is that of the rows: 0 yes, 1 no, 2 wrong use, 3 can't tell",
  usage: `  --from <time> --to <time>   generations that ended at or after, and before: 2026-11-21 or 2026-11-21T12:00:00Z; default: all until now
  --tenant <id>               default: all
  --json                      everything as one JSON object
${RECORDS_USAGE}`,
  async run(args, { out, env }) {
    const { values, positionals } = parseOptions(args, OPTIONS);
    if (positionals[0] !== undefined)
      throw new RepriseError("invalid_request", `reconcile takes no argument "${positionals[0]}".`);
    const range = toRange(values);
    const tenant = values.tenant === undefined ? undefined : parseTenantId(values.tenant);
    await using records = await openRecords(values, env);
    const listed: Difference[] = [];
    const result = await reconcile({
      ...records,
      range,
      tenant,
      onDifference: (one) => void (listed.length < MOST_LISTED && listed.push(one)),
    });
    if (values.json) writeLine(out, JSON.stringify({ ...result, listed }, undefined, 2));
    else for (const line of toReport(result, listed)) writeLine(out, line);
    return result.differences > 0 ? EXIT.different : EXIT.fine;
  },
};

/** @throws RepriseError `invalid_request` */
function toRange({ from, to }: { from?: string | undefined; to?: string | undefined }): TimeWindow {
  const fromUs = from === undefined ? 0 : parseTime(from, "from");
  const toUs = to === undefined ? unixNow() * US_PER_MS : parseTime(to, "to");
  if (fromUs < toUs) return { fromUs, toUs };
  throw new RepriseError("invalid_request", "--from must be before --to.");
}

function parseTime(text: string, name: string): number {
  const ms = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (ms >= 0) return ms * US_PER_MS;
  throw new RepriseError(
    "invalid_request",
    `--${name} ${text} is no time as in 2026-11-21 or 2026-11-21T12:00:00Z.`,
  );
}
