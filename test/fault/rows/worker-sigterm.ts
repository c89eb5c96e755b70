import { startLoad } from "../trial/load.ts";
import type { FaultRow } from "./row.ts";
import { findBusiest, reportTakeovers } from "./takeover.ts";

export const workerSigterm: FaultRow = {
  name: "worker-sigterm",
  about: "the busiest worker is told to stop in mid-stream; until the next attempt's first event",
  world: {},
  async run(trial) {
    const { readers } = await startLoad(trial);
    const { busiest: victim, served } = findBusiest(trial.world.workers, readers);
    const toldAt = performance.now();
    await Promise.all([victim.stop(), trial.ended()]);
    reportTakeovers(trial, served, toldAt);
  },
};
