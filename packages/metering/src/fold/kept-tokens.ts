import type { VarintReader, VarintWriter } from "../varint.ts";

/**
 * How many tokens of a log count, for rewinds: a rewind takes back what came behind a `seq`. Events with equally many tokens and neighbouring `seq`s are one run of three numbers.
 */
export class KeptTokens {
  /** Triples: the last `seq` of a run, tokens of each of its events, and how many tokens count up to its end. */
  #runs: number[];

  constructor(runs: readonly number[] = []) {
    this.#runs = [...runs];
  }

  get total(): number {
    return this.#runs.at(-1) ?? 0;
  }

  /** @param seq behind all before */
  add(seq: number, tokens: number): void {
    if (tokens === 0) return;
    const { length } = this.#runs;
    const total = this.total + tokens;
    const [last, each] = [this.#runs[length - 3], this.#runs[length - 2]];
    if (last === seq - 1 && each === tokens) {
      this.#runs[length - 3] = seq;
      this.#runs[length - 1] = total;
    } else this.#runs.push(seq, tokens, total);
  }

  /** What came behind a `seq` no longer counts. */
  rewind(toSeq: number): void {
    while (this.#runs.length > 0) {
      const [last = 0, each = 1, total = 0] = this.#runs.slice(-3);
      if (last <= toSeq) return;
      const before = this.#runs.at(-4) ?? 0;
      const first = last - (total - before) / each + 1;
      this.#runs.length -= 3;
      if (first > toSeq) continue;
      this.#runs.push(toSeq, each, total - (last - toSeq) * each);
      return;
    }
  }

  encode(writer: VarintWriter): void {
    writer.write(this.#runs.length / 3);
    let [lastSeq, lastTotal] = [0, 0];
    for (let i = 0; i < this.#runs.length; i += 3) {
      const [seq = 0, each = 0, total = 0] = this.#runs.slice(i, i + 3);
      writer.write(seq - lastSeq);
      writer.write(each);
      writer.write((total - lastTotal) / each);
      [lastSeq, lastTotal] = [seq, total];
    }
  }

  /** @throws RepriseError `protocol_violation` */
  static decode(reader: VarintReader): KeptTokens {
    const runs: number[] = [];
    let [seq, total] = [0, 0];
    for (let count = reader.read(); count > 0; count--) {
      seq += reader.read();
      const each = reader.read();
      total += each * reader.read();
      runs.push(seq, each, total);
    }
    return new KeptTokens(runs);
  }
}
