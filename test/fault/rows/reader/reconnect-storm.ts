import { peekSeq } from "@reprise/protocol";
import type { ReaderRecord } from "../../readers/reader-record.ts";
import { startLoad } from "../../trial/load.ts";
import { timeToEvent } from "../../trial/recovery.ts";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { Trial } from "../../trial/trial.ts";
import type { FaultRow } from "../row.ts";

/** 2,000 readers. */
const GENERATIONS = 20;
const READERS_EACH = 100;

export const reconnectStorm: FaultRow = {
  name: "reconnect-storm",
  about:
    "the only delivery node is killed under 2,000 readers and started again; from its being back until each has what was stored by then",
  proof: "a reader of the killed node has an event over a new connection",
  // The suite's own process is busy with readers for seconds on a busy machine, and what goes through its proxies waits: workers' signs of
  // life, and the broker's first words to a node that starts.
  world: { deliveries: 1, ackWaitMs: 5_000, directDeliveries: true },
  shortTrials: 1,
  async run(trial) {
    const { readers } = await startLoad(
      trial,
      {
        generations: GENERATIONS,
        readers: Array.from({ length: READERS_EACH }, () => "raw" as const),
        // Under way for as long as it takes the machine to bring all readers back: then they are cancelled.
        tokens: 3_000,
        tokensPerSecond: 3,
        mayEnd: ["generation.cancelled"],
      },
      2,
    );
    const { slot } = trial.world.deliveries[0]!;
    const before = new Map(readers.map(({ record }) => [record, record.connections] as const));
    await slot.kill();
    await slot.start();
    const backAt = performance.now();
    const heads = await readHeads(trial);
    await Promise.all(readers.map(({ record }) => record.until(isAt(heads))));
    await trial.cancelAll();
    await trial.ended();
    for (const { record } of readers) {
      if (record.seen.at(-1)!.connection > before.get(record)!) trial.hit();
      const ms = timeToEvent(record, backAt, ({ seq }) => seq >= heads.get(record.generation)!);
      if (ms !== undefined) trial.recovered(ms);
    }
  },
};

/** True if a reader that has come back is where its log was. */
const isAt =
  (heads: ReadonlyMap<TestedGeneration, number>) =>
  ({ generation, lastSeq }: ReaderRecord): boolean =>
    lastSeq >= heads.get(generation)!;

/** The last seq of every log at this moment. */
async function readHeads({ world, generations }: Trial): Promise<Map<TestedGeneration, number>> {
  const heads = generations.map(async (generation) => {
    const last = await world.log.reader.readLast(generation.ref);
    return [generation, last ? peekSeq(last.payload) : 0] as const;
  });
  return new Map(await Promise.all(heads));
}
