import { startLoad } from "../trial/load.ts";
import type { FaultRow } from "./row.ts";
import { readersServedBy, reportTakeovers } from "./takeover.ts";

export const workerSigterm: FaultRow = {
  name: "worker-sigterm",
  about: "a worker is told to stop in mid-stream; until the next attempt's first event",
  world: {},
  async run(trial) {
    const { readers } = await startLoad(trial);
    const victim = trial.random.pick(trial.world.workers);
    const affected = readersServedBy(victim, readers);
    const toldAt = performance.now();
    await Promise.all([victim.stop(), trial.ended()]);
    reportTakeovers(trial, affected, toldAt);
  },
};
