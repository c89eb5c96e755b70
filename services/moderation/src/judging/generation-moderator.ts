import { setTimeout as pause } from "node:timers/promises";
import {
  createWriterName,
  type LogSnapshot,
  publishLiveVerdict,
  readCurrentLog,
  removeReview,
} from "@reprise/log";
import {
  decodeEvent,
  type EffectiveModeration,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  type KnownEvent,
  logSubject,
  peekSeq,
  RepriseError,
  toRepriseError,
} from "@reprise/protocol";
import type { RuleSet } from "@reprise/rules";
import { Judge } from "../domain/judge.ts";
import { keptTexts } from "../domain/text/kept-texts.ts";
import { isAnotherAttempt } from "../domain/another-attempt.ts";
import { endHalted } from "./end-halted.ts";
import type { ModeratorContext, LogEvent } from "./moderator-context.ts";
import { ClassifierRuns } from "./classifier-runs.ts";
import { ReviewListings } from "../review-index/review-listings.ts";
import { VerdictWriter } from "./verdict-writer.ts";

interface Parts {
  readonly context: ModeratorContext;
  readonly ref: GenerationRef;
  readonly moderation: EffectiveModeration;
  readonly ruleSet: RuleSet;
  readonly record: VerdictWriter;
}

const MAX_PAUSE_MS = 1_000;
const REFUSED_PAUSE_MS = 50;
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
  readonly #writer = createWriterName();
  readonly #listings: ReviewListings;
  #judge: Judge;
  #late: ClassifierRuns;
  #streamSeq = 0;
  #queue: LogEvent[] = [];
  #busy = false;
  /** The log has more than was folded. */
  #isBehind = false;
  /** What was folded is not the log any more, or its text counts no longer. */
  #isOutdated = false;
  /** Whether it takes nothing more. */
  isClosed = false;

  private constructor(parts: Parts, snapshot: LogSnapshot) {
    this.#parts = parts;
    parts.record.discardLost(snapshot.events);
    this.#listings = new ReviewListings(parts, this);
    this.#late = this.#createLate();
    this.#judge = this.#replay(snapshot);
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
    const record = await VerdictWriter.open(context.log, ref, ruleSet.judgedBy);
    const whole = record.isAheadOf(snapshot.events) ? await readCurrentLog(context.log, ref) : snapshot;
    if (whole !== snapshot) record.discardLostOf(whole.events);
    return new GenerationModerator({ context, ref, moderation, ruleSet, record }, whole);
  }

  /** Whether nothing is left to do for a generation that has ended. */
  get isDone(): boolean {
    return this.#judge.ended && this.isAtRest;
  }

  /** Whether its log brings it all back. */
  get isAtRest(): boolean {
    return !this.#busy && this.unstoredFrom === undefined && this.#late.isIdle;
  }

  /** The first event of the stream that no stored verdict covers; undefined when all are covered. */
  get unstoredFrom(): number | undefined {
    if (this.isClosed) return undefined;
    const missing = this.#isBehind || this.#isOutdated ? this.#streamSeq + 1 : undefined;
    const places = [this.#parts.record.unstoredFrom, this.#listings.from, this.#queue[0]?.streamSeq, missing];
    const known = places.filter((place) => place !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  }

  /** Characters that are held because they may become part of a match. */
  get pendingLength(): number {
    return this.#judge.pendingLength;
  }

  /** Takes an event from the consumer. What follows from it, follows at the next `flush`. */
  take(event: LogEvent): void {
    if (this.#busy) this.#queue.push(event);
    else this.#accept(event);
  }

  /** Says what is cleared; before that, decides what is to be decided. */
  flush(): void {
    if (this.#busy || this.isClosed) return;
    if (!this.#isUndecided && this.#queue.length === 0) return this.#publish();
    this.#busy = true;
    void this.#settle();
  }

  store(): Promise<void> {
    return this.#parts.record.store();
  }

  close(): void {
    this.isClosed = true;
    this.#late.close();
  }

  /** A generation that can't be judged delays no other; its next event has it taken up anew. */
  fail(error: unknown): void {
    this.#parts.context.onError(error);
    this.close();
  }

  get #isUndecided(): boolean {
    if (this.#isBehind || this.#isOutdated || (this.#judge.halted && !this.#judge.ended)) return true;
    return this.#judge.nextDecision(Date.now()) !== undefined;
  }

  #accept(event: LogEvent): void {
    const seq = peekSeq(event.payload);
    const next = this.#judge.judged + 1;
    if (seq < next) {
      // A place that is known, stored anew: the store had lost what was folded. In a shard that was quiet since, its places are lower.
      const isNew = event.streamSeq > this.#streamSeq || isAnotherAttempt(event.payload, this.#judge.attempt);
      this.#isOutdated ||= isNew;
    } else if (seq > next || this.#isBehind || this.#isOutdated) this.#isBehind = true;
    else this.#fold(event);
  }

  #fold({ payload, streamSeq }: LogEvent): void {
    const event = decodeEvent(payload) as KnownEvent;
    if (event.type === "output.rewind" || this.#parts.record.discardLost([payload])) {
      // What counts of the text before it only the log has whole; and all of it is to be judged anew if a verdict of lost text counted.
      this.#isOutdated = true;
      return;
    }
    this.#judge.fold(event);
    this.#streamSeq = streamSeq;
    this.#parts.record.folded(streamSeq);
    this.#late.fold(event);
    this.#judge.keepFromSeq = this.#late.keepFromSeq;
    if (event.type === "moderation.reviewed") {
      // An entry that stays is removed when its time is up.
      removeReview(this.#parts.context.connection, this.#parts.ref, event.review_id).catch(() => undefined);
    }
  }

  #createLate(): ClassifierRuns {
    return new ClassifierRuns({
      ruleSet: this.#parts.ruleSet,
      classifiedBefore: this.#parts.record.stored?.classified ?? 0,
      classify: this.#parts.context.classify,
      onFinding: (finding) => this.#judge.report(finding),
      onDone: () => this.flush(),
    });
  }

  #replay({ events, streamSeq }: LogSnapshot): Judge {
    const { moderation, ruleSet, record } = this.#parts;
    const { judged = 0, findings = [], finding_count: count = 0 } = record.stored ?? {};
    const judge = new Judge({ moderation, ruleSet });
    for (const payload of events) {
      const event = decodeEvent(payload) as KnownEvent;
      judge.fold(event, event.type === "output.rewind" ? keptTexts(events, event.seq) : []);
      if (event.seq === judged) judge.findings.resume(findings, count);
      this.#late.fold(event);
      judge.keepFromSeq = this.#late.keepFromSeq;
    }
    this.#streamSeq = streamSeq;
    record.folded(streamSeq);
    for (const review of judge.reviews.open) this.#listings.list(review, streamSeq);
    return judge;
  }

  async #settle(): Promise<void> {
    for (let tries = 0; !this.isClosed; tries++) {
      try {
        await this.#decide();
        break;
      } catch (thrown) {
        if (!toRepriseError(thrown).retryable) this.fail(thrown);
        else await pause(Math.min(MAX_PAUSE_MS, 20 * 2 ** Math.min(tries, 10)));
      }
    }
    this.#busy = false;
    this.flush();
  }

  /** Brings log and judge in line: until the judge has nothing to add to the log, nor the log to the judge. */
  async #decide(): Promise<void> {
    for (let empty = 0; !this.isClosed;) {
      for (const event of this.#queue.splice(0)) this.#accept(event);
      if (this.#isOutdated || empty >= TRIES_BEFORE_REBUILD) {
        await this.#rebuild();
        empty = 0;
      } else if (this.#isBehind) empty = (await this.#catchUp()) ? 0 : empty + 1;
      else if (this.#isUndecided) await this.#append(this.#judge.nextDecision(Date.now()));
      else if (this.#queue.length === 0) return;
    }
  }

  /** @param draft undefined for the end that a halt asks for, and that its worker may append as well */
  async #append(draft: EventDraft | undefined): Promise<void> {
    const { context, ref } = this.#parts;
    this.#isBehind = true;
    if (!draft) return endHalted(context.log, ref);
    const payload = encodeEvent(this.#judge.judged + 1, draft);
    const outcome = await context.log.publish(logSubject(ref), payload, {
      expectedLast: this.#streamSeq,
      writer: this.#writer,
    });
    // Another writer was faster, or the decision is stored and its answer lost: the log shows which.
    if (outcome.kind !== "stored") return outcome.kind === "conflict" ? undefined : pause(REFUSED_PAUSE_MS);
    this.#isBehind = false;
    this.#fold({ payload, streamSeq: outcome.streamSeq });
    context.onDecided(draft.type);
    if (draft.type !== "moderation.review") return;
    const asked = this.#judge.reviews.open.find(({ reviewId }) => reviewId === draft.review_id);
    if (asked) this.#listings.list(asked, outcome.streamSeq);
  }

  /** @returns whether the log had anything that was missing */
  async #catchUp(): Promise<boolean> {
    const events = await this.#parts.context.log.leader.readTail(this.#parts.ref, this.#streamSeq);
    this.#isBehind = false;
    for (const event of events) this.#accept(event);
    // A hole that the leader does not fill is one of a log that has become another.
    if (this.#isBehind) this.#isOutdated = true;
    return events.length > 0;
  }

  async #rebuild(): Promise<void> {
    const { context, ref, record } = this.#parts;
    const snapshot = await readCurrentLog(context.log, ref);
    record.discardLostOf(snapshot.events);
    this.#isOutdated = false;
    this.#isBehind = false;
    this.#late.close();
    this.#late = this.#createLate();
    this.#judge = this.#replay(snapshot);
  }

  #publish(): void {
    if (this.isClosed) return;
    const { context, ref, moderation, record } = this.#parts;
    const { judged, cleared, decided, endSeq } = this.#judge;
    const { attempt, nonce, fromSeq: attemptFromSeq } = this.#judge.attempt;
    // The end waits for the classifiers' results, also while decisions are made behind it.
    const most = endSeq !== undefined && !this.#late.isIdle ? endSeq - 1 : judged;
    const verdict = { judged: most, cleared: Math.min(cleared, most), decided, attempt, nonce };
    if (!record.hasChanged(verdict)) return;
    if (moderation.mode !== "observe") publishLiveVerdict(context.connection, ref, verdict);
    record.update({
      ...verdict,
      attemptFromSeq,
      findings: this.#judge.findings.first,
      findingCount: this.#judge.findings.count,
      classified: this.#late.classified,
      unjudged: this.#late.unjudged,
      isComplete: most === judged,
      isUrgent: endSeq !== undefined || decided > (record.stored?.decided ?? 0),
    });
  }
}
