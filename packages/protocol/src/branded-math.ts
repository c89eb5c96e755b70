import type { Seq, StreamSeq } from "./seq.ts";
import type { UnixMs } from "./unix-ms.ts";

declare global {
  /** The minimum and maximum of numbers with one brand keep the brand. */
  interface Math {
    max(...values: readonly Seq[]): Seq;
    max(...values: readonly StreamSeq[]): StreamSeq;
    max(...values: readonly UnixMs[]): UnixMs;
    min(...values: readonly Seq[]): Seq;
    min(...values: readonly StreamSeq[]): StreamSeq;
    min(...values: readonly UnixMs[]): UnixMs;
  }
}
