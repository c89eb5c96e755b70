import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../trial/load.ts";
import { reportSilences } from "../trial/recovery.ts";
import type { FaultRow } from "./row.ts";
import { findBusiest } from "./takeover.ts";

/** From one ack or two to more than the ack wait. */
const LONGEST_MS = 1_500;

export const ackLost: FaultRow = {
  name: "ack-lost",
  about:
    "all that the broker tells the busiest worker is lost for up to 1.5 s, acks of what was stored too, and then their connections break; until the end of the longest silence of that worker's readers",
  world: { proxied: ["worker-broker"] },
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { tokens: 150 });
    const { busiest: victim, served } = findBusiest(world.workers, readers);
    const since = performance.now();
    victim.toBroker!.setFaults({ toClient: { dropped: true } });
    await delay(random.integer(1, LONGEST_MS));
    // Lost bytes leave half a message behind, which no connection survives.
    victim.toBroker!.cutNow();
    victim.toBroker!.setFaults({});
    await trial.ended();
    reportSilences(trial, served, since);
  },
};
