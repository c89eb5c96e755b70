import { retry } from "@reprise/async";
import { createWriterName } from "@reprise/broker";
import { type GenerationLog, type LogSnapshot, readPolicy } from "@reprise/stream";
import { storeVerdict, type RuleSet } from "@reprise/moderation";
import {
  type EffectiveModeration,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  type JudgedBy,
  logSubject,
  peekSeq,
  RepriseError,
  type Seq,
  STREAM_START,
  plus,
  REQUEST_SEQ,
  FIRST_SEQ,
  type Verdict,
  unixNow,
} from "@reprise/protocol";
import { type Rejudgement, rejudge } from "../domain/rejudge.ts";

/** For logs whose own policy had moderation off; its mode counts for one that was only observed, too: to apply is to withdraw. */
const DEFAULTS: Omit<EffectiveModeration, "rule_set"> = {
  mode: "retract",
  replacement: "[redacted]",
  on_unavailable: { answer: "fail_open", after_ms: 5_000 },
  review: { answer: "redact", after_ms: 3_600_000 },
};
/** Each time another writer was faster, or the broker did not answer. */
const ATTEMPTS = { maxAttempts: 20, pauseMs: 10, maxPauseMs: 500 };

export interface RejudgeOptions {
  readonly ruleSet: RuleSet;
  /** Called with the last event that was appended, once it is stored. Undefined: nothing is appended. */
  readonly apply: ((ref: GenerationRef, lastSeq: Seq) => void) | undefined;
}

/**
 * Judges a log by other rules. Unless told to apply what they decide, it changes nothing.
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `policy_unsupported`, `broker_unavailable`
 */
export async function rejudgeLog(
  log: GenerationLog,
  ref: GenerationRef,
  { ruleSet, apply }: RejudgeOptions,
): Promise<Rejudgement> {
  let isAppended = false;
  const judged = await retry(async () => {
    const snapshot = await log.reader.readLog(ref);
    const [first] = snapshot.events;
    const own = first && readPolicy(first)?.moderation;
    const mode = own === undefined || own.mode === "observe" ? DEFAULTS.mode : own.mode;
    const moderation = { ...DEFAULTS, ...own, mode, rule_set: ruleSet.id };
    const result = rejudge(snapshot.events, { moderation, ruleSet, nowMs: unixNow() });
    if (!apply) return result;
    const { stored, last } = await appendAll(log, ref, { snapshot, decisions: result.decisions });
    isAppended ||= stored > 0;
    if (stored < result.decisions.length) return undefined;
    // What an earlier attempt has stored is in the log that the last one has read.
    if (isAppended) apply(ref, last);
    await recordSpan(log, ref, { result, by: ruleSet.judgedBy });
    return result;
  }, ATTEMPTS);
  if (judged) return judged;
  throw new RepriseError("broker_unavailable", "The log grows faster than it can be judged again.");
}

/**
 * Appends the decisions. @returns the number that is stored, each after the one before, and the last event then; if some are not stored, the log has become
 *   longer, and has to be judged again
 */
async function appendAll(
  log: GenerationLog,
  ref: GenerationRef,
  { snapshot, decisions }: { snapshot: LogSnapshot; decisions: readonly EventDraft[] },
): Promise<{ stored: number; last: Seq }> {
  let expectedLast = snapshot.streamSeq;
  // A log that was read has at least its first event.
  const lastRead = peekSeq(snapshot.events.at(-1)!);
  const writer = createWriterName();
  for (const [stored, draft] of decisions.entries()) {
    const payload = encodeEvent(plus(lastRead, stored + 1), draft);
    const outcome = await log.publish(logSubject(ref), payload, { expectedLast, writer });
    if (outcome.kind === "conflict") log.requestYield(ref);
    if (outcome.kind !== "stored") return { stored, last: plus(lastRead, stored) };
    expectedLast = outcome.streamSeq;
  }
  return { stored: decisions.length, last: plus(lastRead, decisions.length) };
}

/** The verdict keeps what it said, and adds that these rules have judged everything. */
async function recordSpan(
  log: GenerationLog,
  ref: GenerationRef,
  { result, by }: { result: Rejudgement; by: JudgedBy },
): Promise<void> {
  const isStored = await retry(async () => {
    const present = await log.verdicts.readVerdictFromLeader(ref);
    const said: Verdict = present?.verdict ?? {
      judged: REQUEST_SEQ,
      cleared: REQUEST_SEQ,
      decided: REQUEST_SEQ,
    };
    const span = { from_seq: FIRST_SEQ, to_seq: result.judged, ...by };
    const verdict = { ...said, spans: [...(said.spans ?? []), span] };
    const outcome = await storeVerdict(log.publish, ref, verdict, {
      expectedLast: present?.streamSeq ?? STREAM_START,
    });
    return outcome.kind === "stored" ? true : undefined;
  }, ATTEMPTS);
  if (!isStored)
    throw new RepriseError("broker_unavailable", "The verdict of the other rules could not be stored.");
}
