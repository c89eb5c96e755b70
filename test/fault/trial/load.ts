import type { Reader } from "../readers/reader-record.ts";
import type { TestedGeneration } from "./tested-generation.ts";
import type { GenerationOptions, ReaderKind, Trial } from "./trial.ts";

export interface LoadOptions extends GenerationOptions {
  /** How many. Default 8. */
  readonly generations?: number;
  /** What each is read with. Default one of each kind. */
  readonly readers?: readonly ReaderKind[];
}

export interface Load {
  readonly generations: readonly TestedGeneration[];
  readonly readers: readonly Reader[];
}

const FEW_EVENTS = 3;

/**
 * Creates generations, reads them, and resolves when every reader has seen a few events, plus up to `spread` more, drawn: so that
 * faults strike at another place of the stream each time.
 */
export async function startLoad(trial: Trial, options: LoadOptions = {}, spread = 40): Promise<Load> {
  const { generations: count = 8, readers: kinds = ["raw", "sdk"], ...generationOptions } = options;
  const generations = await Promise.all(Array.from({ length: count }, () => trial.create(generationOptions)));
  const readers = generations.flatMap((generation) => kinds.map((kind) => trial.read(generation, kind)));
  const enough = FEW_EVENTS + trial.random.integer(0, spread);
  await Promise.all(readers.map(({ record }) => record.until(({ seen }) => seen.length >= enough)));
  return { generations, readers };
}
