import { type JudgedBy, type JudgedSpan, type Seq, plus, FIRST_SEQ } from "@reprise/protocol";

/** Adds the events up to `judged` that were not judged before, as judged by these rules. */
export function addSpan(spans: readonly JudgedSpan[], judged: Seq, by: JudgedBy): JudgedSpan[] {
  const last = spans.at(-1);
  const fromSeq = last ? plus(last.to_seq, 1) : FIRST_SEQ;
  if (judged < fromSeq) return [...spans];
  if (last && last.rule_set === by.rule_set && last.built_in === by.built_in)
    return [...spans.slice(0, -1), { ...last, to_seq: judged }];
  return [...spans, { from_seq: fromSeq, to_seq: judged, ...by }];
}

/** Without what was said of events from a place on: others have taken theirs. */
export function clipSpans(spans: readonly JudgedSpan[], fromSeq: Seq): JudgedSpan[] {
  return spans
    .filter((span) => span.from_seq < fromSeq)
    .map((span) => ({ ...span, to_seq: Math.min(span.to_seq, plus(fromSeq, -1)) }));
}

/** Which events up to `lastSeq` were not judged: empty where every event was. */
export function uncovered(spans: readonly JudgedSpan[], lastSeq: Seq): { from_seq: Seq; to_seq: Seq }[] {
  const gaps: { from_seq: Seq; to_seq: Seq }[] = [];
  let next = FIRST_SEQ;
  for (const { from_seq, to_seq } of spans.toSorted((a, b) => a.from_seq - b.from_seq)) {
    if (from_seq > next) gaps.push({ from_seq: next, to_seq: plus(from_seq, -1) });
    next = Math.max(next, plus(to_seq, 1));
  }
  if (next <= lastSeq) gaps.push({ from_seq: next, to_seq: lastSeq });
  return gaps;
}
