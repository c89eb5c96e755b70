import {
  channelOf,
  type EffectiveModeration,
  type EventDraft,
  type Finding,
  isTerminal,
  type KnownEvent,
  MAX_FINDINGS,
  type ModerationAction,
  textOf,
  type UnknownEvent,
  Withdrawals,
} from "@reprise/protocol";
import type { RuleFinding, RuleSet } from "@reprise/rules";
import { ChannelText, type SeqRange } from "./channel-text.ts";
import type { KeptText } from "./kept-texts.ts";
import { Reviews } from "./reviews.ts";
import { draftDecision, type Wanted } from "./wanted.ts";

/** What a classifier has found in a stretch of whole events. */
export interface LateFinding extends SeqRange {
  readonly rule: string;
  readonly category: string;
  readonly action: ModerationAction;
  readonly channel: string;
}

export interface JudgeOptions {
  readonly moderation: EffectiveModeration;
  readonly ruleSet: RuleSet;
}

/**
 * Moderation's view of one generation, folded event by event from its log; the same log gives the same view, whoever folds it.
 *
 * What rules find becomes a decision that the log has to hold. `nextDecision` compares what is wanted with what the log says already,
 * and drafts the first that is missing, for a log that ends with the last event folded: appended by compare-and-set behind just that
 * event, no decision is ever made twice, by however many replicas. `cleared` ends before everything that is undecided.
 */
export class Judge {
  readonly #options: JudgeOptions;
  readonly #channels = new Map<string, ChannelText>();
  readonly #withdrawals = new Withdrawals();
  readonly #reviews = new Reviews();
  #wanted: Wanted[] = [];
  #findings: Finding[] = [];
  #findingCount = 0;
  #judged = -1;
  #decided = 0;
  #endSeq: number | undefined;
  #attempt = { attempt: 0, fromSeq: 0 };
  #haltedFrom = Number.POSITIVE_INFINITY;
  /** The first event that a classifier may still speak about. */
  keepFromSeq = Number.POSITIVE_INFINITY;

  constructor(options: JudgeOptions) {
    this.#options = options;
  }

  /** The last event folded. */
  get judged(): number {
    return this.#judged;
  }

  /** The last event of the log that withdraws something. */
  get decided(): number {
    return this.#decided;
  }

  /** The attempt that wrote the last event, and where that began. */
  get attempt(): { readonly attempt: number; readonly fromSeq: number } {
    return this.#attempt;
  }

  get ended(): boolean {
    return this.#endSeq !== undefined;
  }

  /** Where the generation has ended; decisions may follow. */
  get endSeq(): number | undefined {
    return this.#endSeq;
  }

  /** Whether the log says that the generation was stopped. */
  get halted(): boolean {
    return this.#haltedFrom !== Number.POSITIVE_INFINITY;
  }

  get reviews(): Reviews {
    return this.#reviews;
  }

  /** Characters that are held because they may become part of a match. */
  get pendingLength(): number {
    let sum = 0;
    for (const channel of this.#channels.values()) sum += channel.pendingLength;
    return sum;
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  get findingCount(): number {
    return this.#findingCount;
  }

  /** Takes over what an earlier judge of the same log has told of its findings. */
  resume(findings: readonly Finding[], count: number): void {
    this.#findings = [...findings];
    this.#findingCount = count;
  }

  /** The last event that may be shown. */
  get cleared(): number {
    let first = this.#judged + 1;
    for (const channel of this.#channels.values()) first = Math.min(first, channel.pendingSeq ?? first);
    for (const { range } of this.#wanted) first = Math.min(first, range.fromSeq);
    if (this.#options.moderation.mode === "gate") {
      for (const review of this.#reviews.open) first = Math.min(first, review.fromSeq);
    }
    return first - 1;
  }

  /**
   * Takes the next event of the log.
   * @param kept what counts of the text before a rewind; only needed for one
   */
  fold(event: KnownEvent | UnknownEvent, kept: readonly KeptText[] = []): void {
    this.#judged = event.seq;
    const known = event as KnownEvent;
    const withdrawn = this.#withdrawals.apply(event);
    if (withdrawn) this.#decided = event.seq;
    if (known.type === "moderation.redacted") this.#redacted(known);
    if (known.type === "moderation.halted") this.#halted(known);
    // What a decision has settled is settled: later findings in the same events are not its business.
    if (withdrawn) this.#wanted = this.#wanted.filter((wanted) => !this.#isDecided(wanted));
    else if (known.type === "generation.started") {
      this.#attempt = { attempt: known.attempt, fromSeq: known.seq };
    } else if (known.type === "output.rewind") this.#rewind(kept);
    else if (known.type === "moderation.review") this.#asked(known);
    else if (known.type === "moderation.reviewed") this.#reviewed(known);
    else if (isTerminal(known.type)) this.#end(event.seq);
    else if (channelOf(event) !== undefined) this.#scan(event);
    if (event.seq % FORGET_EVERY === 0) this.#forget();
  }

  /** What a classifier has found after the event was judged. */
  report({ channel: name, rule, category, action, fromSeq, toSeq }: LateFinding): void {
    const channel = this.#channels.get(name);
    const stretch = channel?.stretchOf({ fromSeq, toSeq });
    if (channel && stretch) this.#found(channel, { rule, category, action, ...stretch });
  }

  /**
   * The first decision that the log lacks; undefined when it lacks none.
   * @param nowMs since 1970: when a review begins to wait
   */
  nextDecision(nowMs: number): EventDraft | undefined {
    while (this.#wanted[0] && this.#isDecided(this.#wanted[0])) this.#wanted.shift();
    const { moderation } = this.#options;
    const [wanted] = this.#wanted;
    if (!wanted) return undefined;
    const openPlaces = this.#reviews.open.flatMap(({ place }) => place ?? []);
    return draftDecision(wanted, { moderation, nextSeq: this.#judged + 1, nowMs, openPlaces });
  }

  #isDecided({ action, channel, rule, range }: Wanted): boolean {
    if (range.fromSeq >= this.#haltedFrom) return true;
    if (action === "review") return this.#reviews.wasAsked(channel.name, { rule, range });
    if (action === "halt") return false;
    const wide = channel.widened(range);
    return channel.masked(wide) === channel.shown(wide, this.#withdrawals);
  }

  #scan(event: KnownEvent | UnknownEvent): void {
    const name = channelOf(event)!;
    if (name === "tool") {
      // Each call's arguments are a text of their own, and end with it.
      const call = new ChannelText(name, this.#options.ruleSet.createScanner());
      for (const finding of call.push(event.seq, textOf(event))) this.#found(call, finding);
      for (const finding of call.end()) this.#found(call, finding);
      return;
    }
    let channel = this.#channels.get(name);
    if (!channel) {
      channel = new ChannelText(name, this.#options.ruleSet.createScanner());
      this.#channels.set(name, channel);
    }
    for (const finding of channel.push(event.seq, textOf(event))) this.#found(channel, finding);
  }

  #found(channel: ChannelText, finding: RuleFinding): void {
    const { rule, category, action, from, to } = finding;
    const range = channel.rangeOf(from, to);
    this.#findingCount++;
    if (this.#findings.length < MAX_FINDINGS) {
      this.#findings.push({ rule, category, action, from_seq: range.fromSeq, to_seq: range.toSeq });
    }
    if (action === "flag" || this.#options.moderation.mode === "observe") return;
    if (action === "redact") channel.mask({ from, to, replacement: this.#options.moderation.replacement });
    if (action === "review" && this.#reviews.extend({ rule, range }, { channel, from, to })) return;
    this.#wanted.push({ action, channel, rule, category, from, to, range });
  }

  /**
   * What this judge would not have withdrawn, a classifier or other rules have: it stays withdrawn, whatever is found around it. What
   * they have left of the range is text like any other.
   */
  #redacted({ from_seq: fromSeq, to_seq: toSeq, replacement, channel: name = "0" }: RedactedEvent): void {
    const channel = this.#channels.get(name);
    if (!channel) return;
    const range = { fromSeq, toSeq };
    channel.withdrawn(range);
    const stretch = channel.stretchOf(range);
    if (!stretch || channel.masked(range) === replacement) return;
    const left = new ChannelText(name, this.#options.ruleSet.createScanner());
    const found = [...left.push(fromSeq, replacement), ...left.end()].filter(
      ({ action }) => action === "redact",
    );
    for (const { from, to } of found)
      left.mask({ from, to, replacement: this.#options.moderation.replacement });
    channel.mask({ ...stretch, replacement: left.masked({ fromSeq, toSeq: fromSeq }) });
    for (const { rule, category } of found) {
      this.#wanted.push({ action: "redact", channel, rule, category, ...stretch, range });
    }
  }

  /** Whatever is withdrawn later around the place brings nothing back of what came behind it. */
  #halted({ from_seq: fromSeq, replacement }: HaltedEvent): void {
    this.#haltedFrom = Math.min(this.#haltedFrom, fromSeq);
    for (const channel of this.#channels.values()) channel.cutOff(fromSeq, replacement);
  }

  /** The event tells which events are asked about; this judge, which has found it too, knows which characters. */
  #asked(event: Extract<KnownEvent, { type: "moderation.review" }>): void {
    const isAsked = ({ action, channel, rule, range }: Wanted) =>
      action === "review" &&
      channel.name === (event.channel ?? "0") &&
      rule === event.rule &&
      range.fromSeq === event.from_seq &&
      range.toSeq === event.to_seq;
    const found = this.#wanted.filter(isAsked);
    this.#wanted = this.#wanted.filter((wanted) => !isAsked(wanted));
    this.#reviews.asked(event);
    for (const { channel, rule, range, from, to } of found)
      this.#reviews.extend({ rule, range }, { channel, from, to });
  }

  #reviewed({ review_id: reviewId, decision, replacement }: ReviewedEvent): void {
    const review = this.#reviews.answered(reviewId);
    if (!review || decision === "approve") return;
    const channel = review.place?.channel ?? this.#channels.get(review.channelName);
    const stretch = review.place ?? channel?.stretchOf(review);
    if (!channel || !stretch) return;
    const { from, to } = stretch;
    const { rule, category } = review;
    const range = { fromSeq: review.fromSeq, toSeq: review.toSeq };
    if (decision === "edit") {
      channel.mask({ from, to, replacement: replacement ?? this.#options.moderation.replacement });
    }
    const action = decision === "edit" ? "redact" : "halt";
    this.#wanted.push({ action, channel, rule, category, from, to, range, reviewId });
  }

  /** Text that was rewound is behind us: what half matched there is released, and the rules go on behind what is kept. */
  #rewind(kept: readonly KeptText[]): void {
    for (const [name, old] of this.#channels) {
      for (const finding of old.end()) this.#found(old, finding);
      const channel = new ChannelText(name, this.#options.ruleSet.createScanner());
      // What is found in there was found before, but for what only the cut has brought to light: that is found with what follows.
      for (const part of kept) if (part.channel === name) channel.push(part.seq, part.text);
      channel.continue(old);
      this.#channels.set(name, channel);
    }
  }

  #end(seq: number): void {
    for (const channel of this.#channels.values()) {
      for (const finding of channel.end()) this.#found(channel, finding);
    }
    this.#endSeq ??= seq;
  }

  #forget(): void {
    let needed = Math.min(this.keepFromSeq, this.#judged);
    for (const { range } of this.#wanted) needed = Math.min(needed, range.fromSeq);
    for (const { fromSeq } of this.#reviews.open) needed = Math.min(needed, fromSeq);
    for (const channel of this.#channels.values()) channel.forget(needed);
  }
}

type RedactedEvent = Extract<KnownEvent, { type: "moderation.redacted" }>;
type HaltedEvent = Extract<KnownEvent, { type: "moderation.halted" }>;
type ReviewedEvent = Extract<KnownEvent, { type: "moderation.reviewed" }>;

const FORGET_EVERY = 64;
