import { LIMITS } from "@reprise/protocol";

/** What the broker may have under way to one queue of one worker: it gives up a connection that lags 64 MiB behind. */
const MAX_ASKED_BYTES = 16 * 1_024 * 1_024;
/** The largest job with its subject and headers. A request for less might never be met. */
const MAX_JOB_BYTES = LIMITS.eventBytes + 8_192;

/** What one pull request may ask for. */
export interface PullShare {
  readonly batch: number;
  readonly maxBytes: number;
}

interface Asked {
  count: number;
  bytes: number;
  readonly expiresAt: number;
}

/**
 * Counts how many jobs a worker may ask for, and how many bytes of them. Every slot is in one of three states: free, asked for (a
 * pull request waits at the broker for it), or taken by a running job. Bytes are asked for until their job has come, or does not.
 */
export class PullCredit {
  readonly #slots: number;
  #taken = 0;
  #asked: Asked[] = [];

  constructor(slots: number) {
    this.#slots = slots;
  }

  /**
   * What to ask for now: a job for each free slot. All requests together stay within the bytes that the broker may have under way and
   * `freeBytes`; each takes half of what is left of them, so that slots that become free later are asked for too. It counts as asked
   * for from here on.
   * @returns undefined for nothing, also where not even one job of any size would fit
   */
  request(now: number, expiresMs: number, freeBytes = Number.POSITIVE_INFINITY): PullShare | undefined {
    const batch = this.#slots - this.#taken - this.#sum("count");
    const leftBytes = Math.min(MAX_ASKED_BYTES, freeBytes) - this.#sum("bytes");
    if (batch <= 0 || leftBytes < MAX_JOB_BYTES) return undefined;
    const maxBytes = Math.max(MAX_JOB_BYTES, Math.floor(leftBytes / 2));
    // Half a second of grace, so that the broker's own expiry is heard first.
    this.#asked.push({ count: batch, bytes: maxBytes, expiresAt: now + expiresMs + 500 });
    return { batch, maxBytes };
  }

  /** A job of this size came. Returns whether there is a slot for it. */
  take(bytes = 0): boolean {
    const [oldest] = this.#asked;
    if (oldest) oldest.bytes = Math.max(0, oldest.bytes - bytes);
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

  #sum(what: "count" | "bytes"): number {
    return this.#asked.reduce((sum, asked) => sum + asked[what], 0);
  }
}
