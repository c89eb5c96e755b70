import { startLoad, type LoadOptions } from "../../trial/load.ts";
import { watchReconnect } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../../rows/row.ts";
import type { ServiceSlot } from "../../world/service-slot.ts";
import type { FaultWorld } from "../../world/fault-world.ts";
import type { WorldOptions } from "../../world/world-options.ts";

/** Which version a part of the platform has behind a step. */
type Version = "old" | "new";
type Part = "delivery" | "workers" | "moderation" | "audit" | "analytics";

export interface Step {
  /** Which versions run side by side behind it. */
  readonly title: string;
  readonly part: Part;
  readonly to: Version;
  /** How many of its processes are replaced. Default: all. */
  readonly count?: number;
}

/** Every pair of versions that an upgrade in any order, or its rollback, has running side by side. */
export const STEPS: readonly Step[] = [
  { title: "new delivery beside old workers", part: "delivery", to: "new" },
  { title: "delivery is rolled back", part: "delivery", to: "old" },
  { title: "new moderation", part: "moderation", to: "new" },
  { title: "new audit log", part: "audit", to: "new" },
  { title: "new analytics", part: "analytics", to: "new" },
  { title: "new workers behind old delivery", part: "workers", to: "new" },
  { title: "new delivery: all is new", part: "delivery", to: "new" },
  { title: "workers are rolled back behind new delivery", part: "workers", to: "old" },
  { title: "analytics is rolled back", part: "analytics", to: "old" },
  { title: "the audit log is rolled back", part: "audit", to: "old" },
  { title: "moderation is rolled back", part: "moderation", to: "old" },
  { title: "delivery is rolled back: all is old", part: "delivery", to: "old" },
];

/** Both versions of every part at once: each has the other one beside it, in front of it and behind it. */
export const MIXED: readonly Step[] = [
  { title: "a new worker beside an old one, behind old delivery", part: "workers", to: "new", count: 1 },
  { title: "a new delivery node beside an old one, before both", part: "delivery", to: "new", count: 1 },
  { title: "new moderation", part: "moderation", to: "new" },
  { title: "new analytics", part: "analytics", to: "new" },
];

const WORDS = "(?:copper|shadow|window|garden|market|letter) [a-z]+";
const PLAIN: LoadOptions = {
  generations: 3,
  readers: ["raw", "sdk"],
  tokens: 120,
  tokensPerSecond: 50,
  policy: { max_attempts: 9 },
};
const GATED: LoadOptions = {
  ...PLAIN,
  generations: 2,
  policy: {
    max_attempts: 9,
    moderation: { mode: "gate", rules: [{ pattern: WORDS }], on_unavailable: { after_ms: 60_000 } },
  },
  shown: (text) => text.replaceAll(new RegExp(WORDS, "gi"), "[redacted]"),
};

/** The platform that an upgrade begins with. @param old the repository of the earlier version */
export function worldOf(old: string): WorldOptions {
  return { root: old, moderations: 1, audits: 1, analytics: 1 };
}

/**
 * One step of an upgrade, or of its rollback, under load: processes of a part are replaced by some of the other version, one after the other.
 * @param old the repository of the earlier version
 */
export function stepRow({ title, part, to, count }: Step, old: string): FaultRow {
  return {
    name: title,
    about: `${title}: until each reader that was sent away has its next event`,
    proof: "a process is replaced while generations are read",
    world: worldOf(old),
    async run(trial) {
      for (const slot of slotsOf(trial.world, part).slice(0, count))
        await replace(trial, slot, to === "old" ? old : undefined);
      // One more, of what there is now.
      const { readers } = await startLoad(trial, GATED, 0);
      await Promise.all(readers.map(({ record }) => record.done));
    },
  };
}

function slotsOf(
  { deliveries, workers, moderations, audits, analytics }: FaultWorld,
  part: Part,
): readonly ServiceSlot[] {
  switch (part) {
    case "delivery":
      return deliveries.map(({ slot }) => slot);
    case "workers":
      return workers;
    case "moderation":
      return moderations;
    case "audit":
      return audits;
    case "analytics":
      return analytics;
  }
}

/** SIGTERM in mid-stream, and the other version in its place. Generations of before and behind it are read meanwhile. */
async function replace(trial: Trial, slot: ServiceSlot, root: string | undefined): Promise<void> {
  const [plain, gated] = await Promise.all([startLoad(trial, PLAIN, 20), startLoad(trial, GATED, 20)]);
  const readers = [...plain.readers, ...gated.readers].filter(({ record }) => !record.isDone);
  trial.hit(readers.length);
  const stoppedAt = performance.now();
  const times = readers.map(({ record }) => watchReconnect(record, stoppedAt));
  await slot.stop();
  slot.root = root;
  await slot.start();
  await Promise.all(readers.map(({ record }) => record.done));
  for (const time of times) {
    const ms = time();
    if (ms !== undefined) trial.recovered(ms);
  }
}
