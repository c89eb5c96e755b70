import { setTimeout as delay } from "node:timers/promises";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest, reportTakeovers, TAKEOVER_PROOF } from "./takeover.ts";

async function killBusiest(trial: Trial): Promise<void> {
  const { readers } = await startLoad(trial, { tokens: 150 });
  const { busiest: victim, served } = findBusiest(trial.world, readers);
  const killedAt = performance.now();
  await victim.kill();
  await Promise.all([trial.ended(), victim.start()]);
  reportTakeovers(trial, served, killedAt);
}

const KILLED = "the busiest worker is killed in mid-stream; until the next attempt's first event";

export const workerSigkill: FaultRow = {
  name: "worker-sigkill",
  about: KILLED,
  proof: TAKEOVER_PROOF,
  world: {},
  run: killBusiest,
};

export const workerSigkillDefault: FaultRow = {
  name: "worker-sigkill-5s",
  about: `${KILLED}, with the default ack wait of 5 s`,
  proof: TAKEOVER_PROOF,
  world: { ackWaitMs: 5_000 },
  shortTrials: 1,
  run: killBusiest,
};

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
