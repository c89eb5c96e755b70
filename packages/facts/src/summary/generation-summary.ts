import { fromBase64 } from "../base64.ts";
import { decodedTokensOf, decodeUsOf, usPerTokenOf } from "../rows/decode-time.ts";
import type { DeliveredRow, GenerationRow } from "../rows/generation-row.ts";
import { decodeSketch, mergeEncodedSketch } from "../sketch/sketch-codec.ts";
import { Sketch } from "../sketch/sketch.ts";
import { type DeliveryReport, DeliverySummary } from "./delivery-summary.ts";
import { type Distribution, toDistribution } from "../sketch/distribution.ts";
import { type Interval, shareInterval } from "../sketch/intervals.ts";
import { keysOf } from "./keys-of.ts";
import { isJudged, meetsTargets, type Targets } from "./targets.ts";

/** A share of generations, and where it lies with 95 % confidence. */
export interface Share {
  readonly met: number;
  readonly of: number;
  /** null without generations */
  readonly share: number | null;
  readonly interval: Interval | null;
}

/** Generations as numbers: the shape of the API's answer. Milliseconds; counts are exact. */
export interface SummaryReport {
  readonly generations: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly completion: Share;
  readonly goodput: Share;
  readonly failures: Readonly<Record<string, number>>;
  readonly cancels: Readonly<Record<string, number>>;
  readonly finish_reasons: Readonly<Record<string, number>>;
  readonly tokens: {
    readonly input: number;
    readonly cached_input: number;
    readonly output: number;
    readonly output_kept: number;
    readonly reasoning: number;
  };
  readonly attempts: number;
  readonly takeovers: Readonly<Record<string, number>>;
  readonly rewinds: number;
  readonly tool_calls: number;
  readonly events: number;
  readonly chunks: number;
  readonly stalls: { readonly generations: number; readonly count: number; readonly total_ms: number };
  readonly moderation: {
    readonly moderated: number;
    readonly redactions: number;
    readonly halted: number;
    readonly reviews: number;
    readonly unmoderated: number;
    readonly retraction_ms: Distribution | null;
  };
  readonly latency_ms: {
    readonly queue: Distribution | null;
    readonly prefill: Distribution | null;
    readonly first_token: Distribution | null;
    readonly between_chunks: Distribution | null;
    readonly per_output_token: Distribution | null;
    readonly tool_wait: Distribution | null;
    readonly end_to_end: Distribution | null;
  };
  readonly tokens_per_second: Distribution | null;
  readonly delivery: DeliveryReport;
  /** Whose events were missing, or out of the order of time, when they were measured. */
  readonly incomplete: number;
}

const MS = 1_000;
const SECOND_US = 1_000_000;
/** Tokens per second are kept in thousandths, for a sketch has whole numbers. */
const THOUSANDTHS = 1_000;
const MOST_NAMES = 50;

/** Sums rows up, in any order: two summaries of parts, merged, are the summary of the whole. */
export class GenerationSummary {
  readonly #targets: Targets;
  readonly #counts = {
    completed: 0,
    failed: 0,
    cancelled: 0,
    judged: 0,
    good: 0,
    input: 0,
    cachedInput: 0,
    output: 0,
    outputKept: 0,
    reasoning: 0,
    attempts: 0,
    rewinds: 0,
    toolCalls: 0,
    events: 0,
    chunks: 0,
    stalled: 0,
    stalls: 0,
    stallUs: 0,
    moderated: 0,
    redactions: 0,
    halted: 0,
    reviews: 0,
    unmoderated: 0,
    incomplete: 0,
  };
  readonly #names = {
    failures: new BoundedCounts(MOST_NAMES),
    cancels: new BoundedCounts(MOST_NAMES),
    finishReasons: new BoundedCounts(MOST_NAMES),
    takeovers: new BoundedCounts(MOST_NAMES),
  };
  readonly #sketches = {
    queue: new Sketch(),
    prefill: new Sketch(),
    first: new Sketch(),
    gaps: new Sketch(),
    perToken: new Sketch(),
    toolWait: new Sketch(),
    total: new Sketch(),
    rate: new Sketch(),
    retraction: new Sketch(),
  };

  readonly #delivery = new DeliverySummary();

  constructor(targets: Targets) {
    this.#targets = targets;
  }

  get generations(): number {
    const { completed, failed, cancelled } = this.#counts;
    return completed + failed + cancelled;
  }

  add(row: DeliveredRow): void {
    const counts = this.#counts;
    const gaps = fromBase64(row.gaps);
    const { max: longestGapUs } = mergeEncodedSketch(this.#sketches.gaps, gaps);
    counts[row.status]++;
    if (isJudged(row)) {
      counts.judged++;
      counts.good += Number(meetsTargets(row, longestGapUs, () => decodeSketch(gaps), this.#targets));
    }
    counts.input += row.input_tokens ?? 0;
    counts.cachedInput += row.cached_input_tokens ?? 0;
    counts.output += row.output_tokens;
    counts.outputKept += row.output_tokens_kept;
    counts.reasoning += row.reasoning_tokens ?? 0;
    counts.attempts += row.attempts;
    counts.rewinds += row.rewinds;
    counts.toolCalls += row.tool_calls;
    counts.events += row.events;
    counts.chunks += row.chunks;
    counts.stalled += Number(row.stalls > 0);
    counts.stalls += row.stalls;
    counts.stallUs += row.stall_us;
    counts.moderated += Number(row.moderation_mode !== null);
    counts.redactions += row.redactions;
    counts.halted += Number(row.is_halted);
    counts.reviews += row.reviews;
    counts.unmoderated += Number(row.was_unmoderated);
    counts.incomplete += Number(row.is_incomplete || row.clock_steps > 0);
    if (row.code !== null) this.#names.failures.add(row.code);
    if (row.reason !== null) this.#names.cancels.add(row.reason);
    if (row.finish_reason !== null) this.#names.finishReasons.add(row.finish_reason);
    for (const [reason, times] of Object.entries(row.takeovers)) this.#names.takeovers.add(reason, times);
    this.#measure(row);
    this.#delivery.add(row);
  }

  merge(other: GenerationSummary): void {
    for (const name of keysOf(this.#counts)) this.#counts[name] += other.#counts[name];
    for (const name of keysOf(this.#names)) this.#names[name].merge(other.#names[name]);
    for (const name of keysOf(this.#sketches)) this.#sketches[name].merge(other.#sketches[name]);
    this.#delivery.merge(other.#delivery);
  }

  toReport(): SummaryReport {
    const counts = this.#counts;
    const sketches = this.#sketches;
    const { completed, failed, cancelled } = counts;
    return {
      generations: this.generations,
      completed,
      failed,
      cancelled,
      completion: toShare(completed, completed + failed),
      goodput: toShare(counts.good, counts.judged),
      failures: this.#names.failures.toJSON(),
      cancels: this.#names.cancels.toJSON(),
      finish_reasons: this.#names.finishReasons.toJSON(),
      tokens: {
        input: counts.input,
        cached_input: counts.cachedInput,
        output: counts.output,
        output_kept: counts.outputKept,
        reasoning: counts.reasoning,
      },
      attempts: counts.attempts,
      takeovers: this.#names.takeovers.toJSON(),
      rewinds: counts.rewinds,
      tool_calls: counts.toolCalls,
      events: counts.events,
      chunks: counts.chunks,
      stalls: { generations: counts.stalled, count: counts.stalls, total_ms: counts.stallUs / MS },
      moderation: {
        moderated: counts.moderated,
        redactions: counts.redactions,
        halted: counts.halted,
        reviews: counts.reviews,
        unmoderated: counts.unmoderated,
        retraction_ms: toDistribution(sketches.retraction, MS),
      },
      latency_ms: {
        queue: toDistribution(sketches.queue, MS),
        prefill: toDistribution(sketches.prefill, MS),
        first_token: toDistribution(sketches.first, MS),
        between_chunks: toDistribution(sketches.gaps, MS),
        per_output_token: toDistribution(sketches.perToken, MS),
        tool_wait: toDistribution(sketches.toolWait, MS),
        end_to_end: toDistribution(sketches.total, MS),
      },
      tokens_per_second: toDistribution(sketches.rate, THOUSANDTHS),
      delivery: this.#delivery.toReport(),
      incomplete: counts.incomplete,
    };
  }

  #measure(row: GenerationRow): void {
    const sketches = this.#sketches;
    if (row.queue_us !== null) sketches.queue.add(row.queue_us);
    if (row.prefill_us !== null) sketches.prefill.add(row.prefill_us);
    if (row.first_us !== null) sketches.first.add(row.first_us);
    if (row.tool_wait_us > 0) sketches.toolWait.add(row.tool_wait_us);
    if (row.retraction_us !== null) sketches.retraction.add(row.retraction_us);
    sketches.total.add(row.total_us);
    const perTokenUs = usPerTokenOf(row);
    if (perTokenUs === undefined) return;
    sketches.perToken.add(perTokenUs);
    const decodeUs = decodeUsOf(row) ?? 0;
    if (decodeUs > 0)
      sketches.rate.add(Math.round((decodedTokensOf(row) * SECOND_US * THOUSANDTHS) / decodeUs));
  }
}

function toShare(met: number, of: number): Share {
  return { met, of, share: of === 0 ? null : met / of, interval: shareInterval(met, of) ?? null };
}

/** Counts by name. Names beyond the limit count as `other`, so there are never more than one beyond it. */
class BoundedCounts {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(name: string, times = 1): void {
    const known = this.#counts.get(name);
    if (known !== undefined) this.#counts.set(name, known + times);
    else if (this.#counts.size < this.#limit) this.#counts.set(name, times);
    else this.#counts.set("other", (this.#counts.get("other") ?? 0) + times);
  }

  merge(others: BoundedCounts): void {
    for (const [name, times] of others.#counts) this.add(name, times);
  }

  /** By name. */
  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}
