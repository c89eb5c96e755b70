import { startLoad } from "../trial/load.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";
import { readersServedBy, reportTakeovers } from "./takeover.ts";

async function run(trial: Trial): Promise<void> {
  const { readers } = await startLoad(trial);
  const victim = trial.random.pick(trial.world.workers);
  const affected = readersServedBy(victim, readers);
  const killedAt = performance.now();
  await victim.kill("SIGKILL");
  await trial.ended();
  reportTakeovers(trial, affected, killedAt);
}

const ABOUT = "a worker is killed in mid-stream; until the next attempt's first event";

export const workerSigkill: FaultRow = { name: "worker-sigkill", about: ABOUT, world: {}, run };

export const workerSigkillDefault: FaultRow = {
  name: "worker-sigkill-5s",
  about: `${ABOUT}, with the default ack wait of 5 s`,
  world: { ackWaitMs: 5_000 },
  shortTrials: 1,
  run,
};
