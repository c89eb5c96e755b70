import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../trial/load.ts";
import { reportSilences } from "../trial/recovery.ts";
import type { FaultRow } from "./row.ts";

const LONGEST_MS = 1_500;

export const deliveryCutOff: FaultRow = {
  name: "delivery-cut-off",
  about:
    "a delivery node's connections to the broker are half open for up to 1.5 s, and then break; until the end of the longest silence of its readers",
  world: { proxied: ["delivery-broker"] },
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { readers: ["raw", "raw", "sdk"] });
    const victim = random.integer(0, world.deliveries.length - 1);
    const affected = readers.filter(({ record }) => !record.isDone && record.node === victim);
    const proxy = world.deliveries[victim]!.slot.toBroker!;
    const since = performance.now();
    proxy.setFaults({ toClient: { stalled: true }, toServer: { stalled: random.chance(0.5) } });
    await delay(random.integer(1, LONGEST_MS));
    proxy.cutNow();
    proxy.setFaults({});
    await trial.ended();
    reportSilences(trial, affected, since);
  },
};
