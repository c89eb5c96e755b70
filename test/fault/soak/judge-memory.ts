/** The memory of a process after a garbage collection. */
export interface ProcessMemory {
  readonly heapBytes: number;
  /** Buffers, outside of the heap. */
  readonly externalBytes: number;
  readonly descriptors: number;
}

/** One sample of the platform. */
export interface MemorySample extends ProcessMemory {
  /** Generations that were begun before it. */
  readonly generations: number;
  /** nats-server's resident memory. */
  readonly brokerBytes: number;
}

/** How much a figure may grow from the first half of a soak to the second; what has no bound is not judged. */
export interface MemoryBounds {
  /** Per generation: caches of a stated size fill for longer than a soak lasts. */
  readonly heapBytes: number;
  /** Per generation. */
  readonly externalBytes: number;
  /** Per generation. */
  readonly brokerBytes?: number;
  /** In all. */
  readonly descriptors: number;
}

export interface Growth {
  readonly name: string;
  readonly grown: number;
  readonly bound: number;
  readonly unit: "bytes/generation" | "descriptors";
}

const NAMES = { heapBytes: "heap", externalBytes: "external memory", brokerBytes: "nats-server" } as const;
/** Fewer samples in a half say nothing. */
const LEAST_SAMPLES = 3;

/**
 * How a platform has grown once it was warm: the least of the second half of the samples against the least of the first, over half of
 * the generations. What is under way, as a commit, a checkpoint or a compaction, only ever adds to a sample; what is leaked is in all.
 * Of the broker, whose garbage is collected when it likes, the peaks are compared instead.
 * @throws RangeError when there are too few samples
 */
export function judgeMemory(samples: readonly MemorySample[], bounds: MemoryBounds): Growth[] {
  const half = Math.floor(samples.length / 2);
  if (half < LEAST_SAMPLES) throw new RangeError(`${samples.length} samples are too few to judge growth.`);
  const [first, second] = [samples.slice(0, half), samples.slice(-half)];
  const grown = (figure: keyof MemorySample) => {
    const extreme = figure === "brokerBytes" ? Math.max : Math.min;
    return extreme(...second.map((each) => each[figure])) - extreme(...first.map((each) => each[figure]));
  };
  const generations = second[0]!.generations - first[0]!.generations;
  const { descriptors, ...perGeneration } = bounds;
  const memory = Object.entries(perGeneration).map(([figure, bound]): Growth => {
    const name = figure as keyof typeof perGeneration;
    return {
      name: NAMES[name],
      grown: grown(name) / generations,
      bound,
      unit: "bytes/generation",
    };
  });
  const opened = grown("descriptors");
  return [...memory, { name: "descriptors", grown: opened, bound: descriptors, unit: "descriptors" }];
}

export function isFlat(growths: readonly Growth[]): boolean {
  return growths.every(({ grown, bound }) => grown <= bound);
}
