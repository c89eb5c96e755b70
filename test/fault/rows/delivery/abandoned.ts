import { setTimeout as delay } from "node:timers/promises";
import { PRESENCE_LEASE_MS } from "@reprise/jobs";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import { type LogWatch, watchLog } from "../../trial/log-watch.ts";
import type { GenerationOptions, Trial } from "../../trial/trial.ts";
import { busiestNode } from "./delivery-signals.ts";
import type { FaultRow } from "../row.ts";

const CANCEL_AFTER_MS = 1_500;
const LONGEST_ABSENCE_MS = 500;
/** For a reader that comes back, which takes its time on a busy machine. */
const PATIENT_MS = 10_000;
const policy = { on_disconnect: { cancel_after: CANCEL_AFTER_MS } } as const;
/** Has tokens for half a minute. */
const LEFT: GenerationOptions = { policy, tokens: 3_000, mayEnd: ["generation.cancelled"] };
/** A reader comes back in time: they end as if it had not left. */
const KEPT: GenerationOptions = { policy, tokens: 500, tokensPerSecond: 40 };
/** Continues for longer than its first absence would be borne. */
const VISITED: GenerationOptions = {
  policy: { on_disconnect: { cancel_after: PATIENT_MS } },
  tokens: 1_500,
};
const FEW_EVENTS = 5;
const MOST_READERS = 3;
/** For a reader that comes and goes while a reaper inspects. */
const VISITS = 4;
const LONGEST_VISIT_MS = 500;
/** The time that a clock in another process, and a word on its way, may make of a moment. */
const TOLERANCE_MS = 50;

export const abandoned: FaultRow = {
  name: "abandoned",
  about:
    "readers of two nodes leave a generation with cancel_after 1.5 s for good, or come back in time, or never come: cancelled, or not; from the moment at which it is to be cancelled until the cancel is stored",
  proof: "a generation that was left for good is cancelled",
  world: {},
  shortTrials: 1,
  together: 5,
  async run(trial) {
    const cases = [left, left, left, cameBack, cameBack, cameBack, neverRead];
    await Promise.all(cases.map((play) => play(trial)));
    // The plays of readers that do not come back have waited for their cancels.
    trial.hit(cases.filter((play) => play !== cameBack).length);
  },
};

export const abandonedNodeKilled: FaultRow = {
  name: "abandoned-node-killed",
  about:
    "a node dies with the readers of generations with cancel_after 1.5 s; those of half of them continue at the other node; from 1.5 s after the death, of which a node's word of up to 6 s has to run out, until the cancel is stored",
  proof: "a generation is cancelled whose reader left with the killed node",
  world: {},
  shortTrials: 1,
  async run(trial) {
    const { world } = trial;
    const loads = await Promise.all(
      Array.from({ length: 6 }, async (_, index) => {
        const generation = await trial.create(index % 2 === 0 ? LEFT : KEPT);
        const watch = await watchLog(world, generation);
        const reader = trial.read(generation, "raw");
        await reader.record.until(({ seen }) => seen.length > FEW_EVENTS);
        return { generation, watch, reader, leaves: index % 2 === 0 };
      }),
    );
    const leaving = loads.filter(({ leaves }) => leaves);
    const victim = busiestNode(
      trial,
      leaving.map(({ reader }) => reader),
    );
    const hit = leaving.filter(({ reader }) => reader.record.node === victim);
    await world.deliveries[victim]!.slot.kill();
    const leftAt = performance.now();
    for (const { reader } of leaving) reader.leave();
    await Promise.all(leaving.map(({ generation, watch }) => reportCancel(trial, generation, watch, leftAt)));
    trial.hit(hit.length);
  },
};

async function left(trial: Trial): Promise<void> {
  const { random } = trial;
  const generation = await trial.create(LEFT);
  using watch = await watchLog(trial.world, generation);
  const readers = Array.from({ length: random.integer(1, MOST_READERS) }, () =>
    trial.read(generation, "raw"),
  );
  await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length > FEW_EVENTS)));
  let leftAt = 0;
  for (const reader of readers) {
    await delay(random.integer(0, CANCEL_AFTER_MS / MOST_READERS));
    leftAt = performance.now();
    reader.leave();
  }
  await reportCancel(trial, generation, watch, leftAt);
}

async function cameBack(trial: Trial): Promise<void> {
  const { random } = trial;
  const generation = await trial.create(VISITED);
  for (let visits = 0; visits < VISITS; visits++) {
    const reader = trial.read(generation, "raw");
    await reader.record.until(({ seen }) => seen.length > FEW_EVENTS);
    await delay(random.integer(0, LONGEST_VISIT_MS));
    reader.leave();
    await delay(random.integer(0, LONGEST_ABSENCE_MS));
  }
  await trial.read(generation, "raw").record.done;
}

/** Its creator is given a lease to come. */
async function neverRead(trial: Trial): Promise<void> {
  const createdAt = performance.now();
  const generation = await trial.create(LEFT);
  using watch = await watchLog(trial.world, generation);
  await reportCancel(trial, generation, watch, createdAt + PRESENCE_LEASE_MS - CANCEL_AFTER_MS);
}

async function reportCancel(
  trial: Trial,
  { id }: TestedGeneration,
  watch: LogWatch,
  leftAt: number,
): Promise<void> {
  const { at } = await watch.next(({ type }) => type === "generation.cancelled");
  const lateMs = at - leftAt - CANCEL_AFTER_MS;
  if (lateMs < -TOLERANCE_MS) trial.blame("ends", `${id} was cancelled ${-lateMs} ms too early`);
  trial.recovered(Math.max(0, lateMs));
}
