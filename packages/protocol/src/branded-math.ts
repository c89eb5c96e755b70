import type { Seq, StreamSeq } from "./seq.ts";

declare global {
  /** Of numbers with one brand, the least and the greatest have it too. */
  interface Math {
    max(...values: readonly Seq[]): Seq;
    max(...values: readonly StreamSeq[]): StreamSeq;
    min(...values: readonly Seq[]): Seq;
    min(...values: readonly StreamSeq[]): StreamSeq;
  }
}
