import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";
import { findBusiest } from "../worker/takeover.ts";

/** On top of the first lost ack: to more than the ack wait. */
const LONGEST_MS = 1_500;

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
    await delay(random.integer(0, LONGEST_MS));
    victim.toBroker.repair();
    await trial.ended();
    reportSilences(trial, served, since);
  },
};
