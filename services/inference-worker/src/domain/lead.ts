import { type SeqRange, type Seq, plus } from "@reprise/protocol";

/** One delivery node's report on a generation's readers. */
export interface NodePosition {
  /** The number of readers on this node. */
  readonly readers: number;
  /** The last event that the furthest of them was sent. */
  readonly seq: Seq;
  /** Events that moderation withholds from the readers for now. */
  readonly held?: SeqRange;
}

interface Seen extends NodePosition {
  readonly atMs: number;
}

/**
 * Computes how many tokens an engine is ahead of a generation's furthest reader. Tokens that moderation holds do not count: moderation may need more
 * text to decide, and a reader that waits for moderation must not make the engine wait in turn. Nodes repeat their presence records; a node that sent
 * none for `leaseMs` counts as gone, with its readers. Without readers the lead is 0.
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

  /** The number of tokens on their way into the log. */
  said(tokens: number): void {
    this.#said += tokens;
  }

  /** An event is stored; each once, in the order of the log. */
  stored(seq: Seq, tokens: number): void {
    this.#tokensUpTo[seq] = (this.#tokensUpTo[seq - 1] ?? 0) + tokens;
  }

  heard(node: string, said: NodePosition, nowMs: number): void {
    if (said.readers > 0) this.#nodes.set(node, { ...said, atMs: nowMs });
    else this.#nodes.delete(node);
  }

  /** In tokens; 0 without readers. */
  at(nowMs: number): number {
    let least = Number.POSITIVE_INFINITY;
    for (const [node, seen] of this.#nodes) {
      if (nowMs - seen.atMs > this.#leaseMs) this.#nodes.delete(node);
      else least = Math.min(least, this.#unread(seen));
    }
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }

  #unread({ seq, held }: NodePosition): number {
    const unread = this.#said - this.#upTo(seq);
    if (!held) return unread;
    const heldBehind = Math.max(plus(held.fromSeq, -1), seq);
    return unread - Math.max(0, this.#upTo(held.toSeq) - this.#upTo(heldBehind));
  }

  #upTo(seq: Seq): number {
    // There is an entry for seq 0, and for every event that was stored.
    return this.#tokensUpTo[Math.min(seq, this.#tokensUpTo.length - 1)]!;
  }
}
