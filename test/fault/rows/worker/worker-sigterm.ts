import { startLoad } from "../../trial/load.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest, reportTakeovers, TAKEOVER_PROOF } from "./takeover.ts";

export const workerSigterm: FaultRow = {
  name: "worker-sigterm",
  about: "the busiest worker is told to stop in mid-stream; until the next attempt's first event",
  proof: TAKEOVER_PROOF,
  world: {},
  async run(trial) {
    const { readers } = await startLoad(trial, { tokens: 150 });
    const { busiest: victim, served } = findBusiest(trial.world, readers);
    const toldAt = performance.now();
    await Promise.all([victim.stop().then(() => victim.start()), trial.ended()]);
    reportTakeovers(trial, served, toldAt);
  },
};
