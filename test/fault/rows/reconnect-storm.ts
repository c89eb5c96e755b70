import { peekSeq } from "@reprise/protocol";
import { startLoad } from "../trial/load.ts";
import { timeToEvent } from "../trial/recovery.ts";
import type { TestedGeneration } from "../trial/tested-generation.ts";
import type { Trial } from "../trial/trial.ts";
import type { FaultRow } from "./row.ts";

/** 2,000 readers. */
const GENERATIONS = 20;
const READERS_EACH = 100;

export const reconnectStorm: FaultRow = {
  name: "reconnect-storm",
  about:
    "the only delivery node is killed under 2,000 readers and started again; from its being back until each has what was stored by then",
  proof: "a reader of the killed node has an event over a new connection",
  world: { deliveries: 1 },
  shortTrials: 1,
  async run(trial) {
    const { readers } = await startLoad(
      trial,
      {
        generations: GENERATIONS,
        readers: Array.from({ length: READERS_EACH }, () => "raw" as const),
        tokens: 40,
        tokensPerSecond: 5,
      },
      2,
    );
    const { slot } = trial.world.deliveries[0]!;
    const before = new Map(readers.map(({ record }) => [record, record.connections] as const));
    await slot.kill();
    await slot.start();
    const backAt = performance.now();
    const heads = await readHeads(trial);
    await trial.ended();
    for (const { record } of readers) {
      if (record.seen.at(-1)!.connection > before.get(record)!) trial.hit();
      const ms = timeToEvent(record, backAt, ({ seq }) => seq >= heads.get(record.generation)!);
      if (ms !== undefined) trial.recovered(ms);
    }
  },
};

/** The last seq of every log at this moment. */
async function readHeads({ world, generations }: Trial): Promise<Map<TestedGeneration, number>> {
  const heads = generations.map(async (generation) => {
    const last = await world.log.reader.readLast(generation.ref);
    return [generation, last ? peekSeq(last.payload) : 0] as const;
  });
  return new Map(await Promise.all(heads));
}
