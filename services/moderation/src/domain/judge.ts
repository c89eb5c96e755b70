import {
  channelOf,
  type EffectiveModeration,
  type GenerationEventDraft,
  isTerminal,
  type KnownEvent,
  type SeqRange,
  textOf,
  type UnknownEvent,
  Withdrawals,
  type Seq,
  NO_SEQ,
  REQUEST_SEQ,
  BEYOND_LOG,
  plus,
  type UnixMs,
  type Finding,
  MAX_FINDINGS,
  BLOB_CHANNEL,
} from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/moderation";
import { ChannelText } from "./text/channel-text.ts";
import { Channels, type FoundIn, type KeptText } from "./text/channels.ts";
import type { JudgedAttempt } from "./attempts.ts";
import { findInAnnotation } from "./find-in-annotation.ts";
import { findInCall } from "./find-in-call.ts";
import { drain, type Judging } from "./text/push-in-pieces.ts";
import { alignReplacement } from "./text/align-replacement.ts";
import { type ReviewEvent, Reviews, within } from "./reviews.ts";
import {
  splitAtRewind,
  draftDecision,
  type ClassifierFinding,
  overlap,
  withdrawalRange,
  type PendingDecision,
} from "./pending-decision.ts";

export interface JudgeOptions {
  readonly moderation: EffectiveModeration;
  readonly ruleSet: RuleSet;
}

/**
 * Moderation's view of one generation, folded event by event from its log; the same log gives the same view in every process.
 *
 * Findings of rules become decisions that the log has to hold. `nextDecision` compares the wanted decisions with those in the log,
 * and drafts the first that is missing, for a log that ends with the last event folded: appended by compare-and-set directly after that
 * event, no decision is ever made twice, by any number of replicas. `cleared` ends before everything that is undecided.
 */
export class Judge {
  readonly #options: JudgeOptions;
  readonly #channels: Channels;
  readonly #withdrawals = new Withdrawals();
  readonly reviews = new Reviews();
  readonly findings = new Findings();
  #wanted: PendingDecision[] = [];
  #judged = NO_SEQ;
  #cleared = NO_SEQ;
  #decided: Seq = REQUEST_SEQ;
  #endSeq: Seq | undefined;
  #attempt: JudgedAttempt = { attempt: 0, nonce: undefined, fromSeq: REQUEST_SEQ };
  #haltedFrom = BEYOND_LOG;
  /** Those of the request: their names are not the model's words. */
  #functions: ReadonlySet<string> = new Set();
  /** The first event that a classifier may still speak about. */
  keepFromSeq = BEYOND_LOG;

  constructor(options: JudgeOptions) {
    this.#options = options;
    this.#channels = new Channels(options.ruleSet);
  }

  /** The last event folded. */
  get judged(): Seq {
    return this.#judged;
  }

  /** The last event of the log that withdraws something. */
  get decided(): Seq {
    return this.#decided;
  }

  /** The attempt that wrote the last event, and where that began. */
  get attempt(): JudgedAttempt {
    return this.#attempt;
  }

  get ended(): boolean {
    return this.#endSeq !== undefined;
  }

  /** Where the generation has ended; decisions may follow. */
  get endSeq(): Seq | undefined {
    return this.#endSeq;
  }

  /** True if the log has stopped the generation. */
  get halted(): boolean {
    return this.#haltedFrom !== BEYOND_LOG;
  }

  /** Characters that are held because they may become part of a match. */
  get pendingLength(): number {
    let sum = 0;
    for (const channel of this.#channels.all) sum += channel.pendingLength;
    return sum;
  }

  /**
   * The last event that may be shown. If a match reaches back into text that was settled, cleared events stay so, and no later event is cleared
   * until the match is decided.
   */
  get cleared(): Seq {
    this.#cleared = Math.max(this.#cleared, plus(this.#firstHeld(), -1));
    return this.#cleared;
  }

  #firstHeld(): Seq {
    let first = plus(this.#judged, 1);
    const hold = (range: SeqRange, channel: string) => {
      // Of events that were withdrawn together the first one tells what is left of all.
      first = Math.min(first, this.#withdrawals.widened(range, channel).fromSeq);
    };
    for (const { name, pendingSeq } of this.#channels.all)
      if (pendingSeq !== undefined) hold({ fromSeq: pendingSeq, toSeq: pendingSeq }, name);
    for (const { range, channel } of this.#wanted) hold(range, channel.name);
    if (this.#options.moderation.mode === "gate") {
      for (const review of this.reviews.open) hold(review, review.channelName);
    }
    return first;
  }

  /**
   * Takes the next event of the log.
   * @param kept what counts of the text before a rewind; only needed for one
   */
  fold(event: KnownEvent | UnknownEvent, kept: readonly KeptText[] = []): void {
    drain(this.folding(event, kept));
  }

  /** The same piece by piece. Nothing else may be asked of the judge, but what a classifier reports, before the end. */
  *folding(event: KnownEvent | UnknownEvent, kept: readonly KeptText[] = []): Judging {
    this.#judged = event.seq;
    if (this.#withdrawals.apply(event).length > 0) this.#decided = event.seq;
    if (event.type === "moderation.redacted") this.#redacted(event);
    else if (event.type === "moderation.halted") this.#halted(event);
    else if (event.type === "generation.started") {
      this.#attempt = { attempt: event.attempt, nonce: event.nonce, fromSeq: event.seq };
    } else if (event.type === "output.rewind") yield* this.#rewind(event.to_seq, kept);
    else if (event.type === "moderation.review") this.#asked(event);
    else if (event.type === "moderation.reviewed") this.#reviewed(event);
    else if (isTerminal(event.type)) this.#end(event.seq);
    else if (event.type === "tool.call") {
      this.#foundIn(this.#channels.endTurn());
      const rules = { ruleSet: this.#options.ruleSet, functions: this.#functions };
      this.#foundIn(yield* findInCall(event, rules));
    } else if (event.type === "output.annotation") {
      this.#foundIn(yield* findInAnnotation(event, this.#options.ruleSet));
    } else if (event.type === "output.blob") {
      this.#foundIn(findInBlob(event, this.#options.ruleSet, this.#options.moderation));
    } else if (event.type === "generation.requested") {
      this.#functions = new Set(event.request.tools?.map(({ name }) => name));
    } else yield* this.#scan(event);
    if (event.seq % FORGET_EVERY === 0) this.#forget();
  }

  /** Adds a finding that a classifier made after the event was judged. */
  report({ channel: name, rule, category, action, fromSeq, toSeq }: ClassifierFinding): void {
    const channel = this.#channels.get(name);
    const stretch = channel?.stretchOf({ fromSeq, toSeq });
    if (channel && stretch) this.#found(channel, { rule, category, action, ...stretch });
  }

  /**
   * The first decision that the log lacks; undefined when it lacks none.
   * @param nowMs when a review begins to wait
   */
  nextDecision(nowMs: UnixMs): GenerationEventDraft | undefined {
    while (this.#wanted[0] && this.#isDecided(this.#wanted[0])) this.#wanted.shift();
    const [wanted] = this.#wanted;
    const state = {
      withdrawals: this.#withdrawals,
      reviews: this.reviews,
      nextSeq: plus(this.#judged, 1),
      nowMs,
    };
    return wanted && draftDecision(wanted, { ...state, moderation: this.#options.moderation });
  }

  #isDecided({ action, channel, rule, range, from, to }: PendingDecision): boolean {
    if (range.fromSeq >= this.#haltedFrom) return true;
    if (action === "review") {
      return this.reviews.wasAsked(channel.name, {
        rule,
        range,
        offsets: channel.offsetsIn(range, { from, to }),
      });
    }
    if (action === "halt") return false;
    const wide = withdrawalRange({ range, channel }, this.#withdrawals);
    return channel.masked(wide) === channel.shown(wide, this.#withdrawals);
  }

  /** Drops wanted decisions that a decision has settled: it does not cover later findings in the same events. */
  #settle(isConcerned: (wanted: PendingDecision) => boolean): void {
    this.#wanted = this.#wanted.filter((wanted) => !isConcerned(wanted) || !this.#isDecided(wanted));
  }

  *#scan(event: KnownEvent | UnknownEvent): Judging {
    const name = channelOf(event);
    if (name !== undefined) this.#foundIn(yield* this.#channels.push(name, event.seq, textOf(event)));
  }

  #foundIn(all: readonly FoundIn[]): void {
    for (const { channel, finding } of all) this.#found(channel, finding);
  }

  #found(channel: ChannelText, finding: RuleFinding): void {
    const { rule, category, action, from, to } = finding;
    const range = channel.rangeOf(from, to);
    this.findings.add({ rule, category, action, from_seq: range.fromSeq, to_seq: range.toSeq });
    if (action === "flag" || this.#options.moderation.mode === "observe") return;
    if (action === "redact") channel.mask({ from, to, replacement: this.#options.moderation.replacement });
    const offsets = action === "review" ? channel.offsetsIn(range, finding) : undefined;
    if (offsets && this.reviews.take({ rule, range, offsets }, { channel, from, to })) return;
    this.#wanted.push({ action, channel, rule, category, from, to, range });
  }

  #redacted({ from_seq: fromSeq, to_seq: toSeq, replacement, channel: name = "0" }: RedactedEvent): void {
    const channel = this.#channels.get(name);
    const range = { fromSeq, toSeq };
    if (channel) this.#readAs(channel, range, replacement);
    const wide = this.#withdrawals.widened(range, name);
    this.#settle((one) => one.channel.name === name && overlap(one.range, wide));
  }

  /**
   * A withdrawal that this judge would not have made is a classifier's or other rules': it stays, with any findings around it. What
   * it has left of the range is text like any other.
   */
  #readAs(channel: ChannelText, range: SeqRange, replacement: string): void {
    const stretch = channel.stretchOf(range);
    if (!stretch || channel.masked(range) === replacement) return;
    const { text, found } = scanReplacement(replacement, this.#options);
    const own = { raw: channel.raw(range), mark: this.#options.moderation.replacement };
    const exact = found.length === 0 ? alignReplacement(replacement, own) : undefined;
    for (const mask of exact ?? [])
      channel.mask({ ...mask, from: stretch.from + mask.from, to: stretch.from + mask.to });
    if (!exact) channel.mask({ ...stretch, replacement: text, hasRest: true });
    for (const { rule, category } of found) {
      this.#wanted.push({ action: "redact", channel, rule, category, ...stretch, range });
    }
  }

  /** Applies a halt: a later withdrawal around its place restores none of the text after it. */
  #halted({ from_seq: fromSeq, replacement }: HaltedEvent): void {
    this.#haltedFrom = Math.min(this.#haltedFrom, fromSeq);
    for (const channel of this.#channels.all) channel.cutOff(fromSeq, replacement);
    this.#settle(() => true);
  }

  /** This judge, which has found it too, knows which text is asked about, though a rewind has put another one in its place. */
  #asked(event: ReviewEvent): void {
    this.reviews.asked(event);
    this.#wanted = this.#wanted.filter((wanted) => {
      if (wanted.action !== "review") return true;
      const { channel, rule, range } = wanted;
      return !this.reviews.take({ rule, range, offsets: channel.offsetsIn(range, wanted) }, wanted);
    });
  }

  #reviewed({ review_id: reviewId, decision, replacement }: ReviewedEvent): void {
    const review = this.reviews.answered(reviewId);
    if (!review || decision === "approve") return;
    const channel = review.place?.channel ?? this.#channels.get(review.channelName);
    const stretch = review.place ?? channel?.stretchOf(review);
    if (!channel || !stretch) return;
    const { from, to } = review.place ?? within(stretch, review.offsets);
    const { rule, category } = review;
    const range = { fromSeq: review.fromSeq, toSeq: review.toSeq };
    if (decision === "edit") {
      channel.mask({ from, to, replacement: replacement ?? this.#options.moderation.replacement });
    }
    const action = decision === "edit" ? "redact" : "halt";
    this.#wanted.push({ action, channel, rule, category, from, to, range, reviewId });
  }

  /** Applies a rewind: half matches in the rewound text are released, and the rules continue after the kept text. */
  *#rewind(toSeq: Seq, kept: readonly KeptText[]): Judging {
    this.#foundIn(this.#channels.end());
    for (const { old, next } of yield* this.#channels.rewind(toSeq, kept)) {
      this.#wanted = splitAtRewind(this.#wanted, { old, kept: next, toSeq, withdrawals: this.#withdrawals });
    }
    // After the end nothing can complete a half match in the kept text.
    if (this.ended) this.#foundIn(this.#channels.end());
  }

  #end(seq: Seq): void {
    this.#foundIn(this.#channels.end());
    this.#endSeq ??= seq;
  }

  #forget(): void {
    let needed = Math.min(this.keepFromSeq, this.#judged);
    for (const { range } of this.#wanted) needed = Math.min(needed, range.fromSeq);
    for (const { fromSeq } of this.reviews.open) needed = Math.min(needed, fromSeq);
    for (const channel of this.#channels.all) {
      const fromSeq = Math.min(needed, channel.openSeq ?? needed);
      channel.forget(this.#withdrawals.widened({ fromSeq, toSeq: needed }, channel.name).fromSeq);
    }
  }
}

type RedactedEvent = Extract<KnownEvent, { type: "moderation.redacted" }>;
type HaltedEvent = Extract<KnownEvent, { type: "moderation.halted" }>;
type ReviewedEvent = Extract<KnownEvent, { type: "moderation.reviewed" }>;

const FORGET_EVERY = 64;

/** The findings in one generation, for its verdict: their number, and the first 100. */
class Findings {
  #first: Finding[] = [];
  #count = 0;

  get first(): readonly Finding[] {
    return this.#first;
  }

  get count(): number {
    return this.#count;
  }

  add(finding: Finding): void {
    this.#count++;
    if (this.#first.length < MAX_FINDINGS) this.#first.push(finding);
  }

  /** Takes over what an earlier judge of the same log has told of its findings. */
  resume(first: readonly Finding[], count: number): void {
    this.#first = [...first];
    this.#count = count;
  }
}

/** Judges the part of a range that other withdrawals have left, as a text by itself: returns its replacement and the findings. */
function scanReplacement(
  rest: string,
  { moderation, ruleSet }: { moderation: EffectiveModeration; ruleSet: RuleSet },
): { text: string; found: RuleFinding[] } {
  const text = new ChannelText("", ruleSet);
  const found = [...drain(text.push(REQUEST_SEQ, rest)), ...text.end()].filter(
    ({ action }) => action === "redact",
  );
  for (const { from, to } of found) text.mask({ from, to, replacement: moderation.replacement });
  return { text: text.masked({ fromSeq: REQUEST_SEQ, toSeq: REQUEST_SEQ }), found };
}

type BlobEvent = Extract<KnownEvent, { type: "output.blob" }>;

/** The rule and the category of a decision about content that no rule can read. */
const MEDIA_RULE = { rule: "media", category: "unjudged" } as const;

/** Applies the policy to media, which rules can't read. The id serves as its text, so that it is withdrawn and reviewed like a text. */
function findInBlob(event: BlobEvent, ruleSet: RuleSet, { media = "allow" }: EffectiveModeration): FoundIn[] {
  const id = textOf(event);
  if (media === "allow" || id === "") return [];
  const channel = new ChannelText(BLOB_CHANNEL, ruleSet);
  drain(channel.push(event.seq, id));
  const action = media === "review" ? "review" : "redact";
  return [{ channel, finding: { ...MEDIA_RULE, action, from: 0, to: id.length } }];
}
