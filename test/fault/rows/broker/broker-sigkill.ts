import { setTimeout as delay } from "node:timers/promises";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";

/** From back at once to away for longer than the ack wait. */
const LONGEST_ABSENCE_MS = 1_500;

export const brokerSigkill: FaultRow = {
  name: "broker-sigkill",
  about:
    "nats-server is killed under load and back within 1.5 s; until the end of each reader's longest silence",
  proof: "a generation ends after the broker is back",
  world: {},
  async run(trial) {
    const { server } = trial.world.broker;
    const { generations, readers } = await startLoad(trial, { tokens: 150 });
    const killedAt = performance.now();
    await server.kill("SIGKILL");
    await delay(trial.random.integer(0, LONGEST_ABSENCE_MS));
    await server.restart();
    const backAt = performance.now();
    await trial.ended();
    hitRunning(trial, generations, backAt);
    reportSilences(trial, readers, killedAt);
  },
};
