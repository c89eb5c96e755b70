/** A random source that gives the same numbers for the same seed, for ever: a failure can be played again. */
export interface SeededRandom {
  readonly seed: number;
  /** At least 0, less than 1. */
  next: () => number;
  /** A whole number, `min` and `max` included. */
  integer(min: number, max: number): number;
  /** True with this probability, 0 to 1. */
  chance(probability: number): boolean;
  /** One of them. @throws TypeError when there are none */
  pick<T>(items: readonly T[]): T;
  bytes(length: number): Uint8Array;
}

/** mulberry32: 32 bits of state, good enough to choose faults by, and short enough to be checked by eye. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    seed,
    next,
    integer,
    chance: (probability) => next() < probability,
    pick(items) {
      if (items.length === 0) throw new TypeError("there is nothing to pick from");
      return items[integer(0, items.length - 1)]!;
    },
    bytes: (length) => Uint8Array.from({ length }, () => integer(0, 255)),
  };
}

/** Runs a test's body with a seed that is put into the message of what it throws, and returns what it returns. */
export async function withSeed<T>(seed: number, body: (random: SeededRandom) => Promise<T> | T): Promise<T> {
  try {
    return await body(createSeededRandom(seed));
  } catch (error) {
    if (error instanceof Error) error.message = `[seed ${seed}] ${error.message}`;
    throw error;
  }
}
