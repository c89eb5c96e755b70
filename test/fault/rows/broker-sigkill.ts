import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../trial/load.ts";
import { reportSilences } from "../trial/recovery.ts";
import type { FaultRow } from "./row.ts";

/** From back at once to away for longer than the ack wait. */
const LONGEST_ABSENCE_MS = 1_500;

export const brokerSigkill: FaultRow = {
  name: "broker-sigkill",
  about:
    "nats-server is killed under load and back within 1.5 s; until the end of each reader's longest silence",
  world: {},
  async run(trial) {
    const { server } = trial.world.broker;
    const { readers } = await startLoad(trial);
    const killedAt = performance.now();
    await server.kill("SIGKILL");
    await delay(trial.random.integer(0, LONGEST_ABSENCE_MS));
    await server.restart();
    await trial.ended();
    reportSilences(trial, readers, killedAt);
  },
};
