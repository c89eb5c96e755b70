import { pause } from "@reprise/async";

const MAX_KNOWN = 10_000;

/**
 * Rate-limited reads that strangers can ask for. Reads of one key start at least the given milliseconds apart, and calls meanwhile share the next
 * read, so that the cost does not grow with the calls. No answer is reused: a call is answered by a read that starts after the call, so it never
 * reports something as absent that existed when the call came. The start of the last read is remembered for the latest 10,000 keys; an older key
 * is read at once.
 */
export class PacedReads<Key, Value> {
  readonly #read: (key: Key) => Promise<Value>;
  readonly #everyMs: number;
  readonly #begunMs = new Map<Key, number>();
  readonly #planned = new Map<Key, Promise<Value>>();

  constructor(read: (key: Key) => Promise<Value>, everyMs: number) {
    this.#read = read;
    this.#everyMs = everyMs;
  }

  /** Rejects as the read does. */
  read(key: Key): Promise<Value> {
    const planned = this.#planned.get(key) ?? this.#plan(key);
    this.#planned.set(key, planned);
    return planned;
  }

  async #plan(key: Key): Promise<Value> {
    const dueMs = (this.#begunMs.get(key) ?? Number.NEGATIVE_INFINITY) + this.#everyMs;
    // Pauses even without a delay: the caller stores the planned read first.
    await pause(Math.max(0, dueMs - performance.now()));
    this.#planned.delete(key);
    this.#begunMs.delete(key);
    this.#begunMs.set(key, performance.now());
    const [oldest] = this.#begunMs.keys();
    if (oldest !== undefined && this.#begunMs.size > MAX_KNOWN) this.#begunMs.delete(oldest);
    return this.#read(key);
  }
}
