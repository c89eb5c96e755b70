import { setTimeout as delay } from "node:timers/promises";
import { startLoad } from "../../trial/load.ts";
import { reportSilences } from "../../trial/recovery.ts";
import { busiestNode, readingFrom } from "./busiest-node.ts";
import type { FaultRow } from "../row.ts";

const LONGEST_MS = 1_500;

export const deliveryCutOff: FaultRow = {
  name: "delivery-cut-off",
  about:
    "a delivery node's connections to the broker are half open for up to 1.5 s, and then break; until the end of the longest silence of its readers",
  proof: "a connection of the node is cut while a reader of it waits for more",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(trial, { readers: ["raw", "raw", "sdk"] });
    const victim = busiestNode(trial, readers);
    const affected = readingFrom(readers, victim);
    const { toBroker } = world.deliveries[victim]!.slot;
    const since = performance.now();
    toBroker.setFaults({ toClient: { stalled: true }, toServer: { stalled: random.chance(0.5) } });
    await delay(random.integer(1, LONGEST_MS));
    const waiting = affected.filter(({ record }) => !record.isDone);
    if (toBroker.cutNow() > 0) trial.hit(waiting.length);
    toBroker.setFaults({});
    await trial.ended();
    reportSilences(trial, affected, since);
  },
};
