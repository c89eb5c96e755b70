/**
 * Counts how many jobs a worker may ask for. Every slot is in one of three states: free, asked for (a pull request waits at
 * the broker for it), or taken by a running job.
 */
export class PullCredit {
  readonly #slots: number;
  #taken = 0;
  #asked: { count: number; expiresAt: number }[] = [];

  constructor(slots: number) {
    this.#slots = slots;
  }

  /** How many jobs to ask for now: one for each free slot. They count as asked for from here on. */
  request(now: number, expiresMs: number): number {
    const count = this.#slots - this.#taken - this.#outstanding;
    if (count <= 0) return 0;
    // Half a second of grace, so that the broker's own expiry is heard first.
    this.#asked.push({ count, expiresAt: now + expiresMs + 500 });
    return count;
  }

  /** A job came. Returns whether there is a slot for it. */
  take(): boolean {
    this.unused(1);
    return this.occupy();
  }

  /** A job that had given its slot away wants one again. Returns whether there is one. */
  occupy(): boolean {
    if (this.#taken >= this.#slots) return false;
    this.#taken++;
    return true;
  }

  /** A job has ended, or gives its slot away. */
  release(): void {
    this.#taken--;
  }

  /** So many of the jobs asked for will not come; the oldest requests are met, or expire, first. */
  unused(count: number): void {
    for (let left = count; left > 0 && this.#asked.length > 0;) {
      const oldest = this.#asked[0]!;
      const used = Math.min(left, oldest.count);
      oldest.count -= used;
      left -= used;
      if (oldest.count === 0) this.#asked.shift();
    }
  }

  /** Gives up requests that the broker should have answered by now. */
  expire(now: number): void {
    this.#asked = this.#asked.filter(({ expiresAt }) => expiresAt > now);
  }

  /** Whether the broker owes an answer. */
  get isAsking(): boolean {
    return this.#asked.length > 0;
  }

  get #outstanding(): number {
    return this.#asked.reduce((sum, { count }) => sum + count, 0);
  }
}
