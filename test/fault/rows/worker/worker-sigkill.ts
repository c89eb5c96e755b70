import { startLoad } from "../../trial/load.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest, reportTakeovers, TAKEOVER_PROOF } from "./takeover.ts";

async function run(trial: Trial): Promise<void> {
  const { readers } = await startLoad(trial, { tokens: 150 });
  const { busiest: victim, served } = findBusiest(trial.world, readers);
  const killedAt = performance.now();
  await victim.kill();
  await Promise.all([trial.ended(), victim.start()]);
  reportTakeovers(trial, served, killedAt);
}

const ABOUT = "the busiest worker is killed in mid-stream; until the next attempt's first event";

export const workerSigkill: FaultRow = {
  name: "worker-sigkill",
  about: ABOUT,
  proof: TAKEOVER_PROOF,
  world: {},
  run,
};

export const workerSigkillDefault: FaultRow = {
  name: "worker-sigkill-5s",
  about: `${ABOUT}, with the default ack wait of 5 s`,
  proof: TAKEOVER_PROOF,
  world: { ackWaitMs: 5_000 },
  shortTrials: 1,
  run,
};
