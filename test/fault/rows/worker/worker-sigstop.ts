import { setTimeout as delay } from "node:timers/promises";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest, reportTakeovers } from "./takeover.ts";

/** The ack wait is 1 s: some wake up before it is over, some long after, most around the takeover. */
const SHORTEST_MS = 800;
const LONGEST_MS = 2_200;

export const workerSigstop: FaultRow = {
  name: "worker-sigstop",
  about:
    "the busiest worker sleeps around its ack wait and wakes up, perhaps replaced; until the next attempt's first event",
  proof: "a generation that it ran ends after its waking",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { tokens: 150 });
    const { busiest: victim, served } = findBusiest(world, readers);
    const stoppedAt = performance.now();
    await victim.pause();
    await delay(random.integer(SHORTEST_MS, LONGEST_MS));
    const wokenAt = performance.now();
    victim.resume();
    await trial.ended();
    hitRunning(
      trial,
      served.map(({ record }) => record.generation),
      wokenAt,
    );
    reportTakeovers(trial, served, stoppedAt);
  },
};
