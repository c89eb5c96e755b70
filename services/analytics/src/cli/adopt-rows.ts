import { RepriseError } from "@reprise/protocol";
import { parseOptions } from "@reprise/service";
import { parseReconcileEnvironment } from "../config.ts";
import { newStoreMarker } from "../facts/identity/store-marker.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { RECORD_OPTIONS } from "./open-records.ts";
import { describeMarker, openTarget, parseStoreIds } from "./open-target.ts";

const OPTIONS = { rows: RECORD_OPTIONS.rows, replaces: { type: "string", multiple: true } } as const;

/** Puts a store in the place of another one, with what it has. */
export const adoptRows: Command = {
  summary:
    "puts a store of rows in the place of the one that analytics misses, with what it has: 0 done, 2 wrong use",
  usage: `  --replaces <id>             the store in whose place this one is, as analytics' log names it; may be given several times
  --rows <folder>             default: what $REPRISE_ANALYTICS_POSTGRES_URL, _S3_URL or _DIR names, or analytics in the data folder`,
  async run(args, { out, env }) {
    const { values, positionals } = parseOptions(args, OPTIONS);
    if (positionals[0] !== undefined)
      throw new RepriseError("invalid_request", `adopt takes no argument "${positionals[0]}".`);
    const given = parseStoreIds(values.replaces ?? []);
    await using stack = new AsyncDisposableStack();
    const { marked } = openTarget(values.rows, parseReconcileEnvironment(env), stack);
    const before = await marked.marker();
    const replaces = [...new Set([...given, ...(before ? [before.id, ...before.replaces] : [])])];
    if (replaces.length === 0)
      throw new RepriseError(
        "invalid_request",
        "adopt needs --replaces: this store is none of analytics yet.",
      );
    const marker = newStoreMarker(replaces);
    await marked.remark(marker);
    writeLine(out, describeMarker(marker));
    return EXIT.fine;
  },
};
