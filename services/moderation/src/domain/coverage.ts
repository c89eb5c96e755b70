import type { JudgedBy, JudgedSpan } from "@reprise/protocol";

/** Adds the events up to `judged` that were not judged before, as judged by these rules. */
export function addSpan(spans: readonly JudgedSpan[], judged: number, by: JudgedBy): JudgedSpan[] {
  const last = spans.at(-1);
  const fromSeq = last ? last.to_seq + 1 : 1;
  if (judged < fromSeq) return [...spans];
  if (last && last.rule_set === by.rule_set && last.built_in === by.built_in)
    return [...spans.slice(0, -1), { ...last, to_seq: judged }];
  return [...spans, { from_seq: fromSeq, to_seq: judged, ...by }];
}

/** Without what was said of events from a place on: others have taken theirs. */
export function clipSpans(spans: readonly JudgedSpan[], fromSeq: number): JudgedSpan[] {
  return spans
    .filter((span) => span.from_seq < fromSeq)
    .map((span) => ({ ...span, to_seq: Math.min(span.to_seq, fromSeq - 1) }));
}

/** Which events up to `lastSeq` were not judged: empty where every event was. */
export function uncovered(
  spans: readonly JudgedSpan[],
  lastSeq: number,
): { from_seq: number; to_seq: number }[] {
  const gaps: { from_seq: number; to_seq: number }[] = [];
  let next = 1;
  for (const { from_seq, to_seq } of spans.toSorted((a, b) => a.from_seq - b.from_seq)) {
    if (from_seq > next) gaps.push({ from_seq: next, to_seq: from_seq - 1 });
    next = Math.max(next, to_seq + 1);
  }
  if (next <= lastSeq) gaps.push({ from_seq: next, to_seq: lastSeq });
  return gaps;
}
