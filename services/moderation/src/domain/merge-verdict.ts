import { type Finding, type JudgedBy, type Verdict, type Seq, REQUEST_SEQ } from "@reprise/protocol";
import { isOfLost, type JudgedAttempt } from "./attempts.ts";
import { addSpan, clipSpans } from "./coverage.ts";

/** A judge's part of a verdict. */
export interface JudgedSoFar extends Pick<Verdict, "judged" | "cleared" | "decided"> {
  readonly attempt: JudgedAttempt;
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  readonly classified: Seq;
  readonly unjudged: NonNullable<Verdict["unjudged"]>;
}

const MAX_UNJUDGED = 100;

/** The next verdict to store. It never says less than the stored one, unless that is about events that the store has lost. */
export function mergeVerdict(stored: Verdict | undefined, now: JudgedSoFar, by: JudgedBy): Verdict {
  const { judged, cleared, decided, findings, findingCount, classified, unjudged } = now;
  const { attempt, nonce } = now.attempt;
  const before =
    stored && isOfLost(stored, now.attempt) ? discardVerdict(stored, now.attempt.fromSeq) : stored;
  const { attempt: attemptBefore = 0, findings: findingsBefore = [], spans = [] } = before ?? {};
  return {
    judged: Math.max(judged, before?.judged ?? REQUEST_SEQ),
    cleared: Math.max(cleared, before?.cleared ?? REQUEST_SEQ),
    decided: Math.max(decided, before?.decided ?? REQUEST_SEQ),
    attempt: Math.max(attempt, attemptBefore),
    nonce: attemptBefore > attempt ? before?.nonce : nonce,
    spans: addSpan(spans, judged, by),
    findings: findings.length >= findingsBefore.length ? [...findings] : findingsBefore,
    finding_count: Math.max(findingCount, before?.finding_count ?? 0),
    ...(classified > 0 && { classified: Math.max(classified, before?.classified ?? REQUEST_SEQ) }),
    ...toUnjudged([...(before?.unjudged ?? []), ...unjudged]),
  };
}

/**
 * Returns the rest of a verdict about events that the store has lost. None of it counts, not even for earlier events: withdrawals by classifiers
 * may be lost as well. Only the rules that have judged those stay known.
 * @param fromSeq the place from which the log differs from the judged events
 */
export function discardVerdict(stored: Verdict | undefined, fromSeq: Seq): Verdict {
  return {
    judged: REQUEST_SEQ,
    cleared: REQUEST_SEQ,
    decided: REQUEST_SEQ,
    spans: clipSpans(stored?.spans ?? [], fromSeq),
  };
}

/** Windows that no classifier has judged stay unjudged in later verdicts too: the first of them, each once. */
function toUnjudged(windows: JudgedSoFar["unjudged"]): Pick<Verdict, "unjudged"> {
  const byName = new Map(windows.map((one) => [`${one.from_seq} ${one.to_seq} ${one.classifier}`, one]));
  return byName.size > 0 ? { unjudged: [...byName.values()].slice(0, MAX_UNJUDGED) } : {};
}
