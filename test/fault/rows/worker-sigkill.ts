import { startLoad } from "../trial/load.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";
import { findBusiest, reportTakeovers } from "./takeover.ts";

async function run(trial: Trial): Promise<void> {
  const { readers } = await startLoad(trial);
  const { busiest: victim, served } = findBusiest(trial.world.workers, readers);
  const killedAt = performance.now();
  await victim.kill();
  await trial.ended();
  reportTakeovers(trial, served, killedAt);
}

const ABOUT = "the busiest worker is killed in mid-stream; until the next attempt's first event";

export const workerSigkill: FaultRow = { name: "worker-sigkill", about: ABOUT, world: {}, run };

export const workerSigkillDefault: FaultRow = {
  name: "worker-sigkill-5s",
  about: `${ABOUT}, with the default ack wait of 5 s`,
  world: { ackWaitMs: 5_000 },
  shortTrials: 1,
  run,
};
