import { setTimeout as delay } from "node:timers/promises";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";

/** All longer than the ack wait, which is 1 s: to the broker, every worker has fallen silent. */
const SHORTEST_MS = 1_100;
const LONGEST_MS = 3_000;
const STARTED = '"type":"generation.started"';

export const brokerSigstop: FaultRow = {
  name: "broker-sigstop",
  about:
    "nats-server stands still under load for longer than the ack wait, and goes on: its jobs come back while their workers live, and no attempt is wasted; until the end of each reader's longest silence",
  proof: "a generation ends after the broker goes on",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { server } = world.broker;
    const { generations, readers } = await startLoad(trial, { tokens: 200, tokensPerSecond: 60 });
    const stoppedAt = performance.now();
    await server.kill("SIGSTOP");
    await delay(random.integer(SHORTEST_MS, LONGEST_MS));
    const wokenAt = performance.now();
    await server.kill("SIGCONT");
    await trial.ended();
    hitRunning(trial, generations, wokenAt);
    reportSilences(trial, readers, stoppedAt);
    for (const { id, ref } of generations) {
      const payloads = await world.readLog(ref);
      const attempts = payloads.filter((payload) => payload.includes(STARTED)).length;
      if (attempts !== 1) trial.blame("log", `${id} has ${attempts} attempts, though no worker was lost`);
    }
  },
};
