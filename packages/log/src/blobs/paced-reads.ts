import { pause } from "@reprise/async";

const MAX_KNOWN = 10_000;

/**
 * Reads that strangers can ask for. Those of one key begin at least so many milliseconds apart, and calls meanwhile share the next one, so that
 * what they cost does not grow with the calls. No answer is given twice: a call is answered by a read that begins behind it, and so never told of
 * something as absent that was there when it came. Of the latest 10,000 keys it is known when the last read began; an older one is read at once.
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
    // At once too: behind the caller, which keeps what was planned.
    await pause(Math.max(0, dueMs - performance.now()));
    this.#planned.delete(key);
    this.#begunMs.delete(key);
    this.#begunMs.set(key, performance.now());
    const [oldest] = this.#begunMs.keys();
    if (oldest !== undefined && this.#begunMs.size > MAX_KNOWN) this.#begunMs.delete(oldest);
    return this.#read(key);
  }
}
