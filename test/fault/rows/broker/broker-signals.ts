import { setTimeout as delay } from "node:timers/promises";
import { hitRunning } from "../../trial/acked.ts";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "../worker/takeover.ts";

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

/** All longer than the ack wait, which is 1 s: to the broker, every worker has fallen silent. */
const SHORTEST_STOP_MS = 1_100;
const LONGEST_STOP_MS = 3_000;
const STARTED = '"type":"generation.started"';

export const brokerSigstop: FaultRow = {
  name: "broker-sigstop",
  about:
    "nats-server is stopped under load for longer than the ack wait, and continues: its jobs come back while their workers live, and no attempt is wasted; until the end of each reader's longest silence",
  proof: "a generation ends after the broker continues",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { server } = world.broker;
    const { generations, readers } = await startLoad(trial, { tokens: 200, tokensPerSecond: 60 });
    const stoppedAt = performance.now();
    await server.kill("SIGSTOP");
    await delay(random.integer(SHORTEST_STOP_MS, LONGEST_STOP_MS));
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

/** On top of the first lost ack: to more than the ack wait. */
const LONGEST_LOSS_MS = 1_500;

export const ackLost: FaultRow = {
  name: "ack-lost",
  about:
    "all that the broker tells the busiest worker is lost for up to 1.5 s, acks of what was stored too, and then their connections break; until the end of the longest silence of that worker's readers",
  proof: "an acknowledgement of an event is lost on its way to the worker",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { tokens: 150 });
    const { busiest: victim, served } = findBusiest(world, readers);
    const since = performance.now();
    const lost = world.broker.acks.next(({ by }) => by === victim.name);
    victim.toBroker.setFaults({ toClient: { dropped: true } });
    await Promise.race([lost.then(() => trial.hit()), trial.ended()]);
    await delay(random.integer(0, LONGEST_LOSS_MS));
    victim.toBroker.repair();
    await trial.ended();
    reportSilences(trial, served, since);
  },
};
