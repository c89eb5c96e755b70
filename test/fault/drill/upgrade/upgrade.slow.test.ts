import { expect, test } from "vitest";
import { DEFAULT_SEED } from "../../campaign/options.ts";
import { drillUpgrade } from "./drill-upgrade.ts";
import { findCommit } from "./revision.ts";
import { MIXED } from "./upgrade-row.ts";

const EARLIER = "HEAD^";
/** A copy without git's history, or with its newest commit alone, has no earlier version. */
const hasEarlier = await findCommit(EARLIER).then(
  () => true,
  () => false,
);
if (!hasEarlier) console.warn(`${EARLIER} is not there: run git fetch --unshallow for the test of upgrades.`);

test.runIf(hasEarlier)(
  "services of the commit before this one run beside these, in both orders, and no reader notices",
  async () => {
    const problems = await drillUpgrade({ revision: EARLIER, steps: MIXED, seed: DEFAULT_SEED }, () => {});
    expect(problems).toEqual([]);
  },
);
