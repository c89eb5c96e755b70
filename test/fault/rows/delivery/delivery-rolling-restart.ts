import { type LoadOptions, startLoad } from "../../trial/load.ts";
import { watchReconnect } from "../../trial/recovery.ts";
import type { Trial } from "../../trial/trial.ts";
import { readingFrom } from "./busiest-node.ts";
import type { FaultRow } from "../row.ts";

const LOAD: LoadOptions = {
  generations: 6,
  readers: ["raw", "raw", "sdk"],
  tokens: 120,
  tokensPerSecond: 50,
};

export const deliveryRollingRestart: FaultRow = {
  name: "delivery-rolling-restart",
  about:
    "two delivery nodes are restarted in order, one after the other, while generations are created and read; until each reader that was sent away has its next event",
  proof: "a node sends a reader home, which has its next event from the other; both nodes have to",
  world: {},
  async run(trial) {
    const rolled = new AbortController();
    const creating = keepCreating(trial, rolled.signal);
    const sentAway: number[] = [];
    for (const [node, { slot }] of trial.world.deliveries.entries()) {
      // A load for each: while a node is restarted on a busy machine, an earlier one may have ended.
      const { readers } = await startLoad(trial, LOAD, 20);
      const leavingAt = performance.now();
      const affected = readingFrom(readers, node);
      const reconnects = affected.map(({ record }) => watchReconnect(record, leavingAt));
      await slot.stop();
      await slot.start();
      await Promise.all(affected.map(({ record }) => record.until(({ node: now }) => now !== node)));
      const times = reconnects.map((timeToReconnect) => timeToReconnect()).filter((ms) => ms !== undefined);
      for (const ms of times) trial.recovered(ms);
      sentAway.push(times.length);
    }
    trial.hit(Math.min(...sentAway));
    rolled.abort();
    await creating;
  },
};

/** Starts one generation after the other, and reads each: readers that come in the middle must not notice either. */
async function keepCreating(trial: Trial, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const generation = await trial.create({ tokens: 20 });
    await trial.read(generation, "sdk").record.done;
  }
}
