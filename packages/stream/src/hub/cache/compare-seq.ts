import type { Seq } from "@reprise/protocol";

/** Relation of an event to a cache whose last event is `lastSeq`. */
export type SeqOrder = "next" | "known" | "gap";

/** The live feed may lose, repeat and reorder: only the successor of the last event is taken from it. */
export function compareSeq(lastSeq: Seq, seq: Seq): SeqOrder {
  if (seq === lastSeq + 1) return "next";
  return seq <= lastSeq ? "known" : "gap";
}
