import { setTimeout as delay } from "node:timers/promises";
import type { Reader } from "../../readers/reader-record.ts";
import { startLoad } from "../../trial/load.ts";
import { timeToEvent } from "../../trial/recovery.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { FaultRow } from "../row.ts";

const LONGEST_MS = 2_000;

export const readerStalled: FaultRow = {
  name: "reader-stalled",
  about:
    "half of the readers stop reading, and half of the connections carry nothing, for up to 2 s, beside others of the same generations; then they continue, or break; until each late one is where the others were",
  proof: "a reader is later than another one of the same generation when it may continue",
  world: { clientProxies: true },
  async run(trial) {
    const { random, world } = trial;
    const { generations, readers } = await startLoad(trial, { readers: ["raw", "raw", "sdk"], tokens: 300 });
    const paused = readers.filter(() => random.chance(0.5));
    const connections = world.deliveries.flatMap(({ toClients }) => toClients!.connections);
    const stalled = connections.filter(() => random.chance(0.5));
    for (const reader of paused) reader.pause();
    for (const connection of stalled) connection.setFaults({ toClient: { stalled: true } });
    await delay(random.integer(1, LONGEST_MS));

    let { heads, late } = compare(generations, readers);
    while (late.length === 0 && readers.some(({ record }) => !record.isDone)) {
      await anyEvent(readers);
      ({ heads, late } = compare(generations, readers));
    }
    trial.hit(late.length);
    const resumedAt = performance.now();
    for (const connection of stalled) {
      if (random.chance(0.5)) connection.cut();
      else connection.setFaults({});
    }
    for (const reader of paused) reader.resume();
    await trial.ended();
    for (const { record } of late) {
      const ms = timeToEvent(record, resumedAt, ({ seq }) => seq >= heads.get(record.generation)!);
      if (ms !== undefined) trial.recovered(ms);
    }
  },
};

/** How far the furthest reader of each generation is, and which readers are not as far. */
function compare(generations: readonly TestedGeneration[], readers: readonly Reader[]) {
  const heads = new Map(
    generations.map((generation) => {
      const own = readers.filter(({ record }) => record.generation === generation);
      return [generation, Math.max(...own.map(({ record }) => record.lastSeq))] as const;
    }),
  );
  return { heads, late: readers.filter(({ record }) => record.lastSeq < heads.get(record.generation)!) };
}

/** Resolves when one of them is shown something, or is done. */
async function anyEvent(readers: readonly Reader[]): Promise<void> {
  const reading = readers.filter(({ record }) => !record.isDone);
  await Promise.race(
    reading.map(({ record }) => {
      const { length } = record.seen;
      return record.until(({ seen }) => seen.length > length);
    }),
  );
}
