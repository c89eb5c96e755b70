import { RepriseError } from "@reprise/protocol";
import { parseOptions } from "@reprise/service";
import { parseReconcileEnvironment } from "../config.ts";
import { newStoreMarker } from "../facts/identity/store-marker.ts";
import { rebuildRows } from "../rebuild/rebuild-rows.ts";
import { type Command, EXIT, writeLine } from "./command.ts";
import { openArchived, RECORD_OPTIONS, RECORDS_USAGE } from "./open-records.ts";
import { describeMarker, openTarget, parseStoreIds } from "./open-target.ts";

const OPTIONS = { ...RECORD_OPTIONS, replaces: { type: "string", multiple: true } } as const;

/** Makes the rows of analytics anew, from the archive, in an empty store. */
export const rebuildUsage: Command = {
  summary:
    "makes the rows of analytics anew from the archive, in an empty store: 0 done, 2 wrong use, 3 can't be done",
  usage: `  --replaces <id>             the store in whose place this one is, as analytics' log names it; may be given several times
${RECORDS_USAGE}`,
  async run(args, { out, env }) {
    const { values, positionals } = parseOptions(args, OPTIONS);
    if (positionals[0] !== undefined)
      throw new RepriseError("invalid_request", `rebuild takes no argument "${positionals[0]}".`);
    const replaces = parseStoreIds(values.replaces ?? []);
    const parsed = parseReconcileEnvironment(env);
    await using stack = new AsyncDisposableStack();
    const { archive, archived } = await openArchived(values, parsed, stack);
    const { facts, marked } = openTarget(values.rows, parsed, stack);
    if (await marked.marker())
      throw new RepriseError("config_invalid", "The store is one of analytics already: name an empty one.");
    const { rows, open, left } = await rebuildRows({
      archived,
      lanes: archive.state.lanes,
      facts,
      keys: parsed.REPRISE_ANALYTICS_KEYS ?? [],
    });
    const marker = newStoreMarker(replaces);
    await marked.mark(marker);
    writeLine(out, `${rows} rows made, ${open} generations go on`);
    if (left > 0) writeLine(out, `${left} generations have no row: the archive has not all of them`);
    writeLine(out, describeMarker(marker));
    return EXIT.fine;
  },
};
