import type { VarintReader, VarintWriter } from "../varint.ts";

/** A run's numbers. */
const WIDTH = 3;
/** The most runs of a turn. */
const MAX_RUNS = 256;
/** Number of runs that replace a part of a log when its runs are joined. */
const JOINED = 2;

/**
 * The tokens of a log that count, for rewinds: a rewind takes back everything after a `seq`. Events with equally many tokens and neighbouring `seq`s are one
 * run of three numbers.
 *
 * Exact for every rewind that PROTOCOL.md §6.3 allows and workers append: to the last tool's answer, or to before all output. Tokens before that answer are
 * kept as a sum. After it a turn
 * may have any number of runs, of which at least the newest 128 are kept as they are: older ones become two, whose sum is right. Only a rewind into the middle
 * of those would be counted by
 * proportion.
 */
export class KeptTokens {
  /** Triples: the last `seq` of a run, tokens of each of its events, and how many tokens count up to its end. */
  #runs: number[];
  /** `seq` of the last tool's answer; 0 without one. Undefined: an earlier version has not stored it, so nothing is joined before the next one. */
  #turnSeq: number | undefined = 0;

  constructor(runs: readonly number[] = []) {
    this.#runs = [...runs];
  }

  get total(): number {
    return this.#runs.at(-1) ?? 0;
  }

  get turnSeq(): number | undefined {
    return this.#turnSeq;
  }

  /** @param seq after all before */
  add(seq: number, tokens: number): void {
    if (tokens === 0) return;
    const { length } = this.#runs;
    const total = this.total + tokens;
    const [last, each] = [this.#runs[length - 3], this.#runs[length - 2]];
    if (last === seq - 1 && each === tokens) {
      this.#runs[length - 3] = seq;
      this.#runs[length - 1] = total;
      return;
    }
    this.#runs.push(seq, tokens, total);
    if (this.#runs.length > (MAX_RUNS + JOINED) * WIDTH) this.#joinOldest();
  }

  /** Begins a turn after a tool's answer: later rewinds reach back at most to it, or to before all output. */
  beginTurn(seq: number): void {
    this.#turnSeq = seq;
  }

  /** Takes back all tokens after a `seq`. */
  rewind(toSeq: number): void {
    this.#turnSeq = toSeq === 0 ? 0 : this.#turnSeq && Math.min(this.#turnSeq, toSeq);
    while (this.#runs.length > 0) {
      const [last = 0, each = 1, total = 0] = this.#runs.slice(-WIDTH);
      if (last <= toSeq) return;
      const before = this.#runs.at(-4) ?? 0;
      const first = last - (total - before) / each + 1;
      this.#runs.length -= WIDTH;
      if (first > toSeq) continue;
      this.#runs.push(toSeq, each, total - (last - toSeq) * each);
      return;
    }
  }

  /** Joins the runs before the turn, and if that is not enough the older half of the turn. */
  #joinOldest(): void {
    const turnSeq = this.#turnSeq;
    if (turnSeq === undefined) return;
    const runs = this.#runs;
    let before = 0;
    while (before < runs.length && (runs[before] ?? 0) <= turnSeq) before += WIDTH;
    const older = runs.length - (MAX_RUNS / 2) * WIDTH;
    this.#runs = [
      ...join(runs.slice(0, before), { seq: 0, total: 0 }),
      ...join(runs.slice(before, Math.max(before, older)), {
        seq: turnSeq,
        total: runs[before - 1] ?? 0,
      }),
      ...runs.slice(Math.max(before, older)),
    ];
  }

  encode(writer: VarintWriter): void {
    writer.write(this.#runs.length / WIDTH);
    let [lastSeq, lastTotal] = [0, 0];
    for (let i = 0; i < this.#runs.length; i += WIDTH) {
      const [seq = 0, each = 0, total = 0] = this.#runs.slice(i, i + WIDTH);
      writer.write(seq - lastSeq);
      writer.write(each);
      writer.write((total - lastTotal) / each);
      [lastSeq, lastTotal] = [seq, total];
    }
  }

  /** @throws RepriseError `protocol_violation` */
  static decode(reader: VarintReader, turnSeq: number | undefined): KeptTokens {
    const runs: number[] = [];
    let [seq, total] = [0, 0];
    for (let count = reader.read(); count > 0; count--) {
      seq += reader.read();
      const each = reader.read();
      total += each * reader.read();
      runs.push(seq, each, total);
    }
    const kept = new KeptTokens(runs);
    kept.#turnSeq = turnSeq;
    return kept;
  }
}

/**
 * Replaces runs by at most two with the same end and the same sum of tokens: each event has as many as the others, or one more.
 * @param from the place before the runs, and the tokens that count up to it
 */
function join(runs: readonly number[], from: { readonly seq: number; readonly total: number }): number[] {
  if (runs.length <= JOINED * WIDTH) return [...runs];
  const [last = 0, , total = 0] = runs.slice(-WIDTH);
  const events = last - from.seq;
  const tokens = total - from.total;
  const each = Math.floor(tokens / events);
  const more = tokens % events;
  return [
    ...(each > 0 ? [last - more, each, total - more * (each + 1)] : []),
    ...(more > 0 ? [last, each + 1, total] : []),
  ];
}
