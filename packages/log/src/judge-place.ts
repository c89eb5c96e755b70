/** What an event is to a tail whose last event is `lastSeq`. */
export type Place = "next" | "known" | "gap";

/** The live feed may lose, repeat and reorder: only the successor of the last event is taken from it. */
export function judgePlace(lastSeq: number, seq: number): Place {
  if (seq === lastSeq + 1) return "next";
  return seq <= lastSeq ? "known" : "gap";
}
