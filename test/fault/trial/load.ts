import { logSubject } from "@reprise/protocol";
import type { Reader } from "../readers/reader-record.ts";
import { countTokens, endOf } from "./acked.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { GenerationOptions, ReaderKind, Trial } from "./trial.ts";

export interface LoadOptions extends GenerationOptions {
  /** Number of generations. Default 8. */
  readonly generations?: number;
  /** The readers of each. Default one of each kind. */
  readonly readers?: readonly ReaderKind[];
  /** Called with each reader before it is shown anything. */
  readonly onReader?: (reader: Reader) => void;
}

export interface Load {
  readonly generations: readonly TestedGeneration[];
  readonly readers: readonly Reader[];
}

const FEW = 3;
/** A generation that has more of its tokens than this may end before a fault strikes. */
const MOST_DONE = 0.7;
/** On a machine so slow that loads end before they are read. */
const MOST_LOADS = 5;

/**
 * Creates generations, reads them, and resolves when every reader has seen a few events and the first generation has a few tokens, plus
 * up to `spread` more, drawn: so that faults strike at another place of the stream each time. At that moment most of the generations
 * are under way: where they have come too far, others are begun.
 */
export async function startLoad(trial: Trial, options: LoadOptions = {}, spread = 40): Promise<Load> {
  const { generations: count = 8, readers: kinds = ["raw", "sdk"], onReader, ...rest } = options;
  const { tokens = 100 } = rest;
  const enough = FEW + trial.random.integer(0, Math.min(spread, Math.floor(tokens / 2)));
  for (let loads = 1; ; loads++) {
    const creating = Array.from({ length: count }, () => trial.create(rest));
    const generations = await Promise.all(creating);
    const readers = generations.flatMap((generation) => kinds.map((kind) => trial.read(generation, kind)));
    if (onReader) for (const reader of readers) onReader(reader);
    await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length >= FEW)));
    await untilProduced(trial, generations[0]!, enough);
    const isUnderWay = (generation: TestedGeneration) =>
      !endOf(trial.world, generation) && countTokens(trial.world, generation) <= tokens * MOST_DONE;
    if (generations.filter(isUnderWay).length > count / 2 || loads === MOST_LOADS)
      return { generations, readers };
  }
}

/** Resolves when that number of a generation's tokens is stored, or its end. */
async function untilProduced({ world }: Trial, generation: TestedGeneration, tokens: number): Promise<void> {
  const subject = logSubject(generation.ref);
  while (countTokens(world, generation) < tokens && !endOf(world, generation))
    await world.broker.acks.next((message) => message.subject === subject);
}
