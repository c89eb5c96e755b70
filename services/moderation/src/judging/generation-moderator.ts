import { pause, retry } from "@reprise/async";
import { createWriterName } from "@reprise/broker";
import { type LogSnapshot, readCurrentLog, appendDecision, type GenerationLog } from "@reprise/stream";
import { publishLiveVerdict, reviewList, type RuleSet } from "@reprise/moderation";
import {
  decodeEvent,
  type EffectiveModeration,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  logSubject,
  peekSeq,
  RepriseError,
  toRepriseError,
  type Verdict,
  plus,
  STREAM_START,
  REQUEST_SEQ,
  type StreamSeq,
  unixNow,
} from "@reprise/protocol";
import { REPRISE, type TraceSpan } from "@reprise/runtime/telemetry";
import { Judge } from "../domain/judge.ts";
import { drain, type Judging } from "../domain/text/push-in-pieces.ts";
import { KeptTexts } from "../domain/text/channels.ts";
import { isAnotherAttempt } from "../domain/attempts.ts";
import type { ModeratorContext, LogEvent } from "./moderator-context.ts";
import { ClassifierRuns } from "./classifier-runs.ts";
import { ReviewListings } from "../review-index/review-listings.ts";
import { startModerationSpan } from "./moderation-span.ts";
import { VerdictWriter } from "./verdict-writer.ts";
import { WaitingEvents } from "./waiting-events.ts";

interface Parts {
  readonly context: ModeratorContext;
  readonly ref: GenerationRef;
  readonly moderation: EffectiveModeration;
  readonly ruleSet: RuleSet;
  readonly writer: VerdictWriter;
  readonly span: TraceSpan;
}

/** The folded events compared with the log: all of it; not all; or events that the log does not hold any more, or that no longer count. */
type Folded = "complete" | "incomplete" | "outdated";
type AnnouncedVerdict = Pick<Verdict, "judged" | "cleared" | "decided" | "nonce">;

const RETRY = { pauseMs: 20, maxPauseMs: 1_000 };
const REFUSED_PAUSE_MS = 50;
/** A longer event waits for its tenant's turn. */
const PIECES_AT_ONCE = 4;
/** Events that are read from the log before they are judged. */
const MOST_READ = 16;
/** Bytes of an event beside its text. */
const ENVELOPE = 512;
/** Steps of an event beside the judging of its text. */
const STEPS_PER_EVENT = 100;

/** Reads of the log's end that bring nothing though an append conflicts: the log has become another one. */
const TRIES_BEFORE_REBUILD = 5;

/**
 * One generation under moderation: folds its log into a `Judge`, appends what that decides, and publishes what it has cleared.
 *
 * Events come from the shard's consumer, in order; what is missing in between, and what others have appended while a decision was on
 * its way, is read from the log. A decision is published with the last folded event as the expected one, so it is stored only in
 * the log that it was made for; events that are stored instead are folded first, and then the judge is asked again. Clean text, which is
 * nearly all, takes no await: one scan and one message to the readers' nodes.
 */
export class GenerationModerator {
  readonly #parts: Parts;
  readonly #writerName = createWriterName();
  readonly #listings: ReviewListings;
  readonly #closed = new AbortController();
  #judge: Judge;
  #classifierRuns: ClassifierRuns;
  #streamSeq = STREAM_START;
  readonly #queue = new WaitingEvents();
  #busy = false;
  #folded: Folded = "complete";
  #announced: AnnouncedVerdict | undefined;
  /** The texts that count in a log that was rewound: the next rewind needs no reading. Undefined before its first rewind, which reads the log again. */
  #kept: KeptTexts | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.#listings = new ReviewListings({
      ...parts,
      signal: this.#closed.signal,
      onFailed: (error) => this.fail(error),
    });
    this.#classifierRuns = this.#createClassifierRuns();
    this.#judge = new Judge(parts);
  }

  /**
   * Judges a log from its beginning, of which an earlier process may have judged a part.
   * @throws RepriseError `broker_unavailable`; `internal` when its rules are not kept any more
   */
  static async open(
    context: ModeratorContext,
    ref: GenerationRef,
    moderation: EffectiveModeration,
    snapshot: LogSnapshot,
  ): Promise<GenerationModerator> {
    const ruleSet = await context.readRules(ref.tenant, moderation.rule_set);
    if (!ruleSet)
      throw new RepriseError("internal", `The rules ${moderation.rule_set} are not kept any more.`);
    const writer = await VerdictWriter.open(context.log, ref, ruleSet.judgedBy);
    const whole = writer.isAheadOf(snapshot.events) ? await readCurrentLog(context.log, ref) : snapshot;
    if (whole !== snapshot) writer.discardLostOf(whole.events);
    const span = startModerationSpan(context.tracing, ref, moderation, whole);
    writer.discardLost(whole.events);
    const moderator = new GenerationModerator({ context, ref, moderation, ruleSet, writer, span });
    await moderator.#replay(whole);
    return moderator;
  }

  /** True if it accepts no more events. */
  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** True if a generation has ended and nothing is left to do for it. */
  get isDone(): boolean {
    return this.#judge.ended && this.isAtRest;
  }

  /** True if its log alone can restore it. */
  get isAtRest(): boolean {
    return !this.#busy && this.unstoredFrom === undefined && this.#classifierRuns.isIdle;
  }

  /** The first event of the stream that no stored verdict covers; undefined when all are covered. */
  get unstoredFrom(): StreamSeq | undefined {
    if (this.isClosed) return undefined;
    const missing = this.#folded === "complete" ? undefined : plus(this.#streamSeq, 1);
    const places = [
      this.#parts.writer.unstoredFrom,
      this.#listings.from,
      this.#queue.first?.streamSeq,
      missing,
    ];
    const [first, ...others] = places.filter((place) => place !== undefined);
    return first === undefined ? undefined : Math.min(first, ...others);
  }

  /** Characters that are held because they may become part of a match. */
  get pendingLength(): number {
    return this.#judge.pendingLength;
  }

  /** Takes an event from the consumer. What follows from it, follows at the next `flush`. */
  take(event: LogEvent): void {
    const { context, ref, ruleSet } = this.#parts;
    const waits = this.#busy || this.#queue.first !== undefined || context.shares.isSpent(ref.tenant);
    // In UTF-8 it is no shorter than in UTF-16.
    if (waits || event.payload.length > PIECES_AT_ONCE * ruleSet.pieceLength + ENVELOPE)
      this.#queue.push(event);
    else this.#acceptAtOnce(event);
  }

  /** Says what is cleared; before that, decides what is to be decided. */
  flush(): void {
    if (this.#busy || this.isClosed) return;
    if (!this.#isUndecided && !this.#queue.first) return this.#publish();
    this.#busy = true;
    void this.#settle();
  }

  store(): Promise<void> {
    return this.#parts.writer.store();
  }

  close(): void {
    const { span } = this.#parts;
    span.set({ [REPRISE.lastSeq]: this.#judge.judged });
    span.end();
    this.#closed.abort();
    this.#classifierRuns.close();
  }

  /** Fails this generation without delaying others; its next event starts it again. */
  fail(error: unknown): void {
    const { context, span } = this.#parts;
    context.onError(error);
    span.fail(toRepriseError(error).code);
    this.close();
  }

  get #isBehind(): boolean {
    return this.#folded === "incomplete";
  }

  get #isUndecided(): boolean {
    if (this.#folded !== "complete" || (this.#judge.halted && !this.#judge.ended)) return true;
    return this.#judge.nextDecision(unixNow()) !== undefined;
  }

  #acceptAtOnce(event: LogEvent): void {
    const { context, ref, ruleSet } = this.#parts;
    const { steps } = ruleSet;
    drain(this.#accept(event));
    context.shares.spend(ref.tenant, STEPS_PER_EVENT + ruleSet.steps - steps);
  }

  /** Judges in slices and within the tenant's share: what waits for that is this tenant's, and other tenants' verdicts come meanwhile. */
  async #inShares(judging: Judging): Promise<void> {
    const { context, ref, ruleSet } = this.#parts;
    await context.shares.run(ref.tenant, counting(judging, ruleSet));
  }

  *#accept(event: LogEvent): Judging {
    const seq = peekSeq(event.payload);
    const next = this.#judge.judged + 1;
    if (seq < next) {
      // A known place, stored again: the store had lost events that were folded. In a shard that was quiet since, its stream sequences are lower.
      const isNew = event.streamSeq > this.#streamSeq || isAnotherAttempt(event.payload, this.#judge.attempt);
      if (isNew) this.#folded = "outdated";
    } else if (this.#folded === "complete" && seq === next) yield* this.#fold(event);
    else if (this.#folded === "complete") this.#folded = "incomplete";
  }

  *#fold({ payload, streamSeq }: LogEvent): Judging {
    const event = decodeEvent(payload);
    if ((event.type === "output.rewind" && !this.#kept) || this.#parts.writer.discardLost([payload])) {
      // Only the log has all text before it that still counts; and all of it has to be judged again if a verdict of lost text counted.
      this.#folded = "outdated";
      return;
    }
    yield* this.#judge.folding(event, this.#kept?.fold(event));
    this.#streamSeq = streamSeq;
    this.#parts.writer.folded(streamSeq);
    this.#classifierRuns.fold(event);
    this.#judge.keepFromSeq = this.#classifierRuns.keepFromSeq;
    if (event.type === "moderation.reviewed") {
      // An entry that stays is removed when its time is up.
      reviewList
        .remove(this.#parts.context.connection, this.#parts.ref, event.review_id)
        .catch(() => undefined);
    }
  }

  #createClassifierRuns(): ClassifierRuns {
    return new ClassifierRuns({
      ruleSet: this.#parts.ruleSet,
      classifiedBefore: this.#parts.writer.stored?.classified ?? REQUEST_SEQ,
      classify: this.#parts.context.classify,
      onFinding: (finding) => this.#judge.report(finding),
      onDone: () => this.flush(),
    });
  }

  async #replay({ events, streamSeq }: LogSnapshot): Promise<void> {
    const { writer } = this.#parts;
    this.#judge = new Judge(this.#parts);
    const judge = this.#judge;
    await this.#inShares(this.#replaying(judge, events));
    this.#streamSeq = streamSeq;
    writer.folded(streamSeq);
    for (const review of judge.reviews.open) this.#listings.list(review, streamSeq);
  }

  *#replaying(judge: Judge, events: readonly Uint8Array[]): Judging {
    const { judged = REQUEST_SEQ, findings = [], finding_count: count = 0 } = this.#parts.writer.stored ?? {};
    const kept = new KeptTexts();
    this.#kept = undefined;
    for (const payload of events) {
      const event = decodeEvent(payload);
      if (event.type === "output.rewind") this.#kept = kept;
      yield* judge.folding(event, kept.fold(event));
      if (event.seq === judged) judge.findings.resume(findings, count);
      this.#classifierRuns.fold(event);
      judge.keepFromSeq = this.#classifierRuns.keepFromSeq;
      yield;
    }
  }

  async #settle(): Promise<void> {
    await retry(() => this.#tryToDecide(), { ...RETRY, signal: this.#closed.signal });
    this.#busy = false;
    this.flush();
  }

  /** @returns undefined when it is to be tried again */
  async #tryToDecide(): Promise<true | undefined> {
    try {
      await this.#decide();
      return true;
    } catch (thrown) {
      if (!toRepriseError(thrown).retryable) this.fail(thrown);
      return undefined;
    }
  }

  /** Brings log and judge in line: until the judge has nothing to add to the log, nor the log to the judge. */
  async #decide(): Promise<void> {
    for (let empty = 0; !this.isClosed;) {
      for (let event = this.#queue.first; event && !this.isClosed; event = this.#queue.first) {
        await this.#inShares(this.#accept(event));
        this.#queue.shift();
        // Publish what is judged, even if more waits.
        if (!this.#isUndecided) this.#publish();
      }
      if (this.#folded === "outdated" || empty >= TRIES_BEFORE_REBUILD) {
        await this.#rebuild();
        empty = 0;
      } else if (this.#isBehind) empty = (await this.#catchUp()) ? 0 : empty + 1;
      else if (this.#isUndecided) await this.#append(this.#judge.nextDecision(unixNow()));
      else if (!this.#queue.first) return;
    }
  }

  /** @param draft undefined for the end that a halt asks for, and that its worker may append as well */
  async #append(draft: EventDraft | undefined): Promise<void> {
    const { context, ref, span } = this.#parts;
    this.#folded = "incomplete";
    if (!draft) return endHalted(context.log, ref);
    const payload = encodeEvent(plus(this.#judge.judged, 1), draft);
    const outcome = await context.log.publish(logSubject(ref), payload, {
      expectedLast: this.#streamSeq,
      writer: this.#writerName,
    });
    // Another writer was faster, or the decision is stored and its answer lost: the log shows which.
    if (outcome.kind === "conflict") return context.log.requestYield(ref);
    if (outcome.kind !== "stored") return pause(REFUSED_PAUSE_MS, this.#closed.signal);
    this.#folded = "complete";
    drain(this.#fold({ payload, streamSeq: outcome.streamSeq }));
    context.onDecided(draft.type);
    span.event(draft.type, { [REPRISE.seq]: this.#judge.judged });
    if (draft.type !== "moderation.review") return;
    const asked = this.#judge.reviews.open.find(({ reviewId }) => reviewId === draft.review_id);
    if (asked) this.#listings.list(asked, outcome.streamSeq);
  }

  /** @returns whether the log had anything that was missing */
  async #catchUp(): Promise<boolean> {
    const { context, ref } = this.#parts;
    const events = await context.log.leader.readTail(ref, this.#streamSeq, MOST_READ);
    this.#folded = "complete";
    for (const event of events) await this.#inShares(this.#accept(event));
    // A hole that the leader does not fill is one of a log that has become another.
    if (this.#isBehind) this.#folded = "outdated";
    else if (this.#folded === "complete" && events.length === MOST_READ) this.#folded = "incomplete";
    return events.length > 0;
  }

  async #rebuild(): Promise<void> {
    const { context, ref, writer } = this.#parts;
    const snapshot = await readCurrentLog(context.log, ref);
    writer.discardLostOf(snapshot.events);
    this.#folded = "complete";
    this.#classifierRuns.close();
    this.#classifierRuns = this.#createClassifierRuns();
    await this.#replay(snapshot);
  }

  #publish(): void {
    if (this.isClosed) return;
    const { context, ref, moderation, writer } = this.#parts;
    const { judged, cleared, decided, endSeq, attempt, findings } = this.#judge;
    // The end waits for the classifiers' results, even while decisions are made after it.
    const most = endSeq !== undefined && !this.#classifierRuns.isIdle ? plus(endSeq, -1) : judged;
    const marks = { judged: most, cleared: Math.min(cleared, most), decided };
    const { nonce } = attempt;
    if (this.#announced && isSame(this.#announced, { ...marks, nonce })) return;
    this.#announced = { ...marks, nonce };
    if (moderation.mode !== "observe")
      publishLiveVerdict(context.connection, ref, { ...marks, attempt: attempt.attempt, nonce });
    writer.update({
      ...marks,
      attempt,
      findings: findings.first,
      findingCount: findings.count,
      classified: this.#classifierRuns.classified,
      unjudged: this.#classifierRuns.unjudged,
      isComplete: most === judged,
      isUrgent: endSeq !== undefined || decided > (writer.stored?.decided ?? 0),
    });
  }
}

/** Yields the steps that the rules took for each piece. */
function* counting(judging: Judging, ruleSet: RuleSet): Generator<number, void> {
  for (;;) {
    const { steps } = ruleSet;
    const { done } = judging.next();
    yield STEPS_PER_EVENT + ruleSet.steps - steps;
    if (done) return;
  }
}

/** True if the second one has no news for readers' nodes. */
function isSame(a: AnnouncedVerdict, b: AnnouncedVerdict): boolean {
  return a.judged === b.judged && a.cleared === b.cleared && a.decided === b.decided && a.nonce === b.nonce;
}

/**
 * Ends a generation that was halted, unless its worker is first.
 * @throws RepriseError `broker_unavailable`
 */
async function endHalted(log: GenerationLog, ref: GenerationRef): Promise<void> {
  await appendDecision({
    ...log,
    ref,
    writer: createWriterName(),
    decide: ({ ended, usage }) =>
      ended ? undefined : { type: "generation.completed", finish_reason: "content_filter", usage },
  });
}
