import { startLoad } from "../trial/load.ts";
import { watchReconnect } from "../trial/recovery.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";

export const deliveryRollingRestart: FaultRow = {
  name: "delivery-rolling-restart",
  about:
    "two delivery nodes are restarted in order, one after the other, while generations are created and read; until each reader that was sent away has its next event",
  world: {},
  async run(trial) {
    const { readers } = await startLoad(trial, {
      generations: 12,
      readers: ["raw", "raw", "sdk"],
      tokens: 180,
      tokensPerSecond: 50,
    });
    const rolled = new AbortController();
    const creating = keepCreating(trial, rolled.signal);
    for (const [node, { slot }] of trial.world.deliveries.entries()) {
      const leavingAt = performance.now();
      const affected = readers.filter(({ record }) => !record.isDone && record.node === node);
      const reconnects = affected.map(({ record }) => watchReconnect(record, leavingAt));
      await slot.stop();
      await slot.start();
      await Promise.all(affected.map(({ record }) => record.until(({ node: now }) => now !== node)));
      for (const timeToReconnect of reconnects) {
        const ms = timeToReconnect();
        if (ms !== undefined) trial.recovered(ms);
      }
    }
    rolled.abort();
    await creating;
  },
};

/** Starts one generation after the other, and reads each: those who come in the middle must not notice either. */
async function keepCreating(trial: Trial, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const generation = await trial.create({ tokens: 20 });
    await trial.read(generation, "sdk").record.done;
  }
}
