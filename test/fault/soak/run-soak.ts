import { ApiCaller } from "./api-caller.ts";
import { GENERATION_KINDS } from "./generation-kinds.ts";
import type { MemorySample } from "./judge-memory.ts";
import type { SoakedPlatform } from "./soaked-platform.ts";

export interface SoakOptions {
  /** In all, those of the warm-up among them. */
  readonly generations: number;
  /** Those before the first sample that counts. */
  readonly warmUp: number;
  /** Clients at work at the same time: each begins a generation when its last one is over. */
  readonly clients: number;
  /** Samples of the memory, from the end of the warm-up to the end. */
  readonly looks: number;
  readonly signal?: AbortSignal | undefined;
  readonly onSample?: (sample: MemorySample) => void;
}

/**
 * Puts generations of every kind through a platform, and samples its memory at an interval. Clients are idle during a sample, which therefore
 * shows only what remains.
 * @throws Error of the first generation that does not do what its kind is to do
 */
export async function runSoak(platform: SoakedPlatform, options: SoakOptions): Promise<MemorySample[]> {
  const { generations, warmUp, clients, looks, signal, onSample } = options;
  const kinds = Object.values(GENERATION_KINDS);
  const every = Math.floor((generations - warmUp) / (looks - 1));
  using api = new ApiCaller(platform);
  const samples: MemorySample[] = [];
  let begun = 0;
  const work = async (upTo: number) => {
    while (begun < upTo) {
      signal?.throwIfAborted();
      await kinds[begun++ % kinds.length]!(api);
    }
  };
  for (let upTo = warmUp; upTo <= generations; upTo += every) {
    await Promise.all(Array.from({ length: clients }, () => work(upTo)));
    const sample = { generations: begun, ...(await platform.sample()) };
    samples.push(sample);
    onSample?.(sample);
  }
  return samples;
}
