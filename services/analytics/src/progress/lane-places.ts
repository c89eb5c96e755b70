import type { LanePosition } from "@reprise/facts/lane";
import type { FactStore } from "../facts/fact-store.ts";

interface KnownPlace {
  readonly lane: LanePosition | undefined;
  readonly readMs: number;
}

/** Maximum age of a place that was read from the store, in milliseconds. */
const READ_EVERY_MS = 5_000;

/**
 * The newest commits of all streams that this process knows: those of its own lanes as they are made, those of others as the store has them. What is committed stays so: an old
 * place tells too little, and never too much.
 */
export class LanePlaces {
  readonly #facts: Pick<FactStore, "newest">;
  readonly #places = new Map<string, KnownPlace>();
  /** Streams whose commits are made here. */
  readonly #own = new Set<string>();

  constructor(facts: Pick<FactStore, "newest">) {
    this.#facts = facts;
  }

  /** A lane of this process has committed. */
  committed(stream: string, lane: LanePosition): void {
    this.#own.add(stream);
    this.#places.set(stream, { lane, readMs: performance.now() });
  }

  /** Another process may commit from now on. */
  ended(stream: string): void {
    this.#own.delete(stream);
  }

  /** @throws RepriseError `archive_unavailable`, `archive_corrupt` where none was known before */
  async of(stream: string): Promise<LanePosition | undefined> {
    const known = this.#places.get(stream);
    if (known && (this.#own.has(stream) || performance.now() - known.readMs < READ_EVERY_MS))
      return known.lane;
    try {
      const lane = await this.#facts.newest(stream);
      // A commit that was made meanwhile is newer.
      if (this.#places.get(stream) === known) this.#places.set(stream, { lane, readMs: performance.now() });
    } catch (error) {
      if (!known) throw error;
    }
    return this.#places.get(stream)?.lane;
  }
}
