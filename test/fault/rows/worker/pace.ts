import { setTimeout as delay } from "node:timers/promises";
import { type LogWatch, watchLog } from "../../trial/log-watch.ts";
import type { FaultRow } from "../row.ts";

/** 9 MB in 200 tokens: more than twice of what the kernel buffers for a connection that is not read. */
const LARGE = { tokens: 200, tokensPerSecond: 60, simulator: { repeats: 8_000 } };
const POLICY = { pace: { max_lead_tokens: 5 } };
const FEW_EVENTS = 10;
/** Without a pace it would be at its end after 3.3 s. */
const UNREAD_MS = 4_500;
/** For so long before that nothing more comes. */
const STILL_MS = 1_000;

export const pace: FaultRow = {
  name: "pace",
  about:
    "the only reader of a paced generation stops reading, for longer than the engine would take to the end, and continues: the engine waits for it; from reading on until the next event is stored",
  proof: "the next event is stored only once the reader continues",
  together: 3,
  world: { upstream: true },
  shortTrials: 1,
  async run(trial) {
    const generation = await trial.create({ ...LARGE, model: "upstream", policy: POLICY });
    using watch = await watchLog(trial.world, generation);
    const reader = trial.read(generation, "raw");
    await reader.record.until(({ seen }) => seen.length >= FEW_EVENTS);
    reader.pause();
    await delay(UNREAD_MS - STILL_MS + trial.random.integer(0, STILL_MS));
    // On a busy machine the connection takes longer to be full.
    for (let before = -1; lastOf(watch) !== before;) {
      before = lastOf(watch);
      await delay(STILL_MS);
    }
    if (watch.told.some(({ event }) => event.type === "generation.completed"))
      trial.blame("log", `${generation.id} went on to its end, though its only reader had stopped`);
    const resumedAt = performance.now();
    reader.resume();
    await trial.ended();
    const next = watch.told.find(({ at }) => at > resumedAt);
    if (next) {
      trial.hit();
      trial.recovered(next.at - resumedAt);
    }
  },
};

function lastOf({ told }: LogWatch): number {
  return told.at(-1)?.event.seq ?? 0;
}
