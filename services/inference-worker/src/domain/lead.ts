/** What one node of delivery says about a generation's readers. */
export interface NodeReaders {
  /** How many there are. */
  readonly readers: number;
  /** The last event that the furthest of them was sent. */
  readonly seq: number;
}

interface Seen extends NodeReaders {
  readonly atMs: number;
}

/**
 * How many tokens an engine is ahead of a generation's furthest reader. Nodes repeat what they say; one that has not for `leaseMs` is taken to
 * be gone, and its readers with it. A generation that nobody reads is ahead of nobody.
 */
export class Lead {
  readonly #leaseMs: number;
  /** By `seq`: how many tokens the log holds up to there. */
  readonly #tokensUpTo: number[] = [0];
  #said = 0;
  readonly #nodes = new Map<string, Seen>();

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /** So many tokens are on their way into the log. */
  said(tokens: number): void {
    this.#said += tokens;
  }

  /** An event is stored; each once, in the order of the log. */
  stored(seq: number, tokens: number): void {
    this.#tokensUpTo[seq] = (this.#tokensUpTo[seq - 1] ?? 0) + tokens;
  }

  heard(node: string, { readers, seq }: NodeReaders, nowMs: number): void {
    if (readers > 0) this.#nodes.set(node, { readers, seq, atMs: nowMs });
    else this.#nodes.delete(node);
  }

  /** In tokens; 0 while nobody reads. */
  at(nowMs: number): number {
    let furthest = -1;
    for (const [node, { seq, atMs }] of this.#nodes) {
      if (nowMs - atMs > this.#leaseMs) this.#nodes.delete(node);
      else furthest = Math.max(furthest, seq);
    }
    if (furthest < 0) return 0;
    const last = this.#tokensUpTo.length - 1;
    return this.#said - this.#tokensUpTo[Math.min(furthest, last)]!;
  }
}
