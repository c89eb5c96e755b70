import { startLoad } from "../../trial/load.ts";
import { watchReconnect } from "../../trial/recovery.ts";
import type { FaultRow } from "../row.ts";

/** 25 generations with 20 readers each. */
const GENERATIONS = 25;
const READERS_EACH = 20;

export const deliverySigkill: FaultRow = {
  name: "delivery-sigkill",
  about:
    "one of two delivery nodes with 500 readers is killed; until each of its readers has its next event from a node",
  proof: "a reader of the killed node has its next event over a new connection",
  world: {},
  async run(trial) {
    const { random, world } = trial;
    const { readers } = await startLoad(
      trial,
      {
        generations: GENERATIONS,
        readers: Array.from({ length: READERS_EACH }, () => "raw" as const),
        // Under way for as long as it takes the machine to bring all readers back: then they are cancelled.
        tokens: 3_000,
        tokensPerSecond: 10,
        mayEnd: ["generation.cancelled"],
      },
      10,
    );
    const victim = random.integer(0, world.deliveries.length - 1);
    const killedAt = performance.now();
    const affected = readers.filter(({ record }) => !record.isDone && record.node === victim);
    const reconnects = affected.map(({ record }) => watchReconnect(record, killedAt));
    const { slot } = world.deliveries[victim]!;
    await slot.kill();
    // Half of the time the node is back while its readers still look for another.
    if (random.chance(0.5)) await slot.start();
    await Promise.all(
      affected.map(({ record }, index) => record.until(() => reconnects[index]!() !== undefined)),
    );
    await trial.cancelAll();
    await trial.ended();
    for (const timeToReconnect of reconnects) {
      const ms = timeToReconnect();
      if (ms === undefined) continue;
      trial.hit();
      trial.recovered(ms);
    }
  },
};
