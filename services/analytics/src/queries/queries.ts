import {
  BUDGET_CLASSES,
  GenerationSummary,
  Groups,
  LatencyBudget,
  toBudgetSample,
  toGenerationReport,
  UsageTotals,
  type Accumulator,
  type DeliveredRow,
  type Price,
} from "@reprise/metering";
import {
  ANALYTICS_LIMITS,
  ANALYTICS_STEPS_S,
  type AnalyticsCall,
  type ParsedAnalyticsRequest,
  RepriseError,
} from "@reprise/protocol";
import type { RowSource } from "../facts/row-source.ts";
import { toKeyOf } from "./dimensions.ts";
import { encodePageCursor, parsePageCursor } from "./page-cursor.ts";
import { boundRows, describeTargets, toRowQuery, toTargets } from "./row-query.ts";

export interface QueriesOptions {
  readonly rows: RowSource;
  /** Keys of the metadata that rows have. */
  readonly keys: readonly string[];
  readonly priceOf: (model: string) => Price | undefined;
}

type Answers = {
  /** @param untilMs until when the answer is waited for, by `performance.now()`. Default: for ever */
  readonly [Call in AnalyticsCall]: (
    request: ParsedAnalyticsRequest<Call>,
    untilMs?: number,
  ) => Promise<object>;
};

const US_PER_S = 1_000_000;
/** Groups of a timeseries beside `other`. */
const MOST_LINES = 9;
const WITH_DELIVERY = { withDelivery: true };
const DEFAULT_CLASS = "chat-responsive";
const DEFAULT_QUANTILE = 0.95;

/**
 * Answers to questions about rows: the shapes of the HTTP API.
 *
 * All throw RepriseError `invalid_request` for what rows don't have or is too much at once, `archive_unavailable` when rows can't be read.
 */
export function createQueries({ rows, keys, priceOf }: QueriesOptions): Answers {
  async function group<Sum extends Accumulator<DeliveredRow, Sum>>(
    request: ParsedAnalyticsRequest<"summary" | "usage">,
    create: () => Sum,
    { untilMs, withDelivery = request.by.includes("read") }: { untilMs: number; withDelivery?: boolean },
  ) {
    const keyOf = toKeyOf(request.by, keys);
    const read = await rows.read(toRowQuery(request, keys, { withDelivery }), () =>
      boundRows(new Groups<DeliveredRow, Sum>({ keyOf, create }), untilMs),
    );
    return read.consumer.take(request.limit);
  }

  return {
    async summary(request, untilMs = Infinity) {
      const targets = toTargets(request);
      const { groups, other } = await group(request, () => new GenerationSummary(targets), {
        untilMs,
        withDelivery: true,
      });
      return {
        object: "analytics.summary",
        ...rangeOf(request),
        by: request.by,
        targets: describeTargets(targets),
        data: groups.map(({ key, sum }) => ({ key: named(request.by, key), ...sum.toReport() })),
        ...(other && { other: other.sum.toReport() }),
      };
    },

    async timeseries(request, untilMs = Infinity) {
      const targets = toTargets(request);
      const stepUs = ANALYTICS_STEPS_S[request.step] * US_PER_S;
      const query = toRowQuery(request, keys, { withDelivery: request.by.includes("read") });
      const lines = request.by.length === 0 ? 1 : MOST_LINES + 1;
      const points = Math.ceil((query.toUs - query.fromUs) / stepUs) * lines;
      if (points > ANALYTICS_LIMITS.points) {
        const message = `step: ${request.step} makes ${points} points of this time${lines > 1 ? ` and ${lines} groups` : ""}, and ${ANALYTICS_LIMITS.points} are the limit.`;
        throw new RepriseError("invalid_request", message, { param: "step" });
      }
      const keyOf = toKeyOf(request.by, keys);
      // Which lines are shown has to be known before any has points: of a thousand groups they would take gigabytes.
      const largest =
        request.by.length === 0
          ? undefined
          : (
              await rows.read(query, () =>
                boundRows(
                  new Groups<DeliveredRow, RowCount>({ keyOf, create: () => new RowCount() }),
                  untilMs,
                ),
              )
            ).consumer.take(MOST_LINES);
      const read = await rows.read(query, () =>
        boundRows(
          new Groups<DeliveredRow, TimePoints>({
            keyOf,
            create: () => new TimePoints(stepUs, () => new GenerationSummary(targets)),
            ...(largest && { only: largest.groups.map(({ key }) => key) }),
          }),
          untilMs,
        ),
      );
      const { groups, other } = read.consumer.take(MOST_LINES);
      return {
        object: "analytics.timeseries",
        ...rangeOf(request),
        step: request.step,
        by: request.by,
        targets: describeTargets(targets),
        data: groups.map(({ key, sum }) => ({ key: named(request.by, key), points: sum.toReport() })),
        ...(other && { other: { points: other.sum.toReport() } }),
      };
    },

    async generations(request) {
      const after = request.after === undefined ? undefined : parsePageCursor(request.after);
      const { limit } = request;
      // One more than a page shows whether there is another one.
      const found = await rows.page({
        ...toRowQuery(request, keys, WITH_DELIVERY),
        generation: request.generation,
        after,
        limit: limit + 1,
      });
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        object: "list",
        data: page.map((row) => toGenerationReport(row, priceOf(row.model ?? row.requested_model))),
        ...(last && {
          next: encodePageCursor({ endedUs: last.ended_us, generation: last.generation }),
        }),
      };
    },

    async budget(request, untilMs = Infinity) {
      const { target_ms: ms, quantile = DEFAULT_QUANTILE } = request;
      const name = request.class ?? (ms === undefined ? DEFAULT_CLASS : undefined);
      if (name !== undefined && (ms !== undefined || request.quantile !== undefined)) {
        const message = "target_ms: a class has its own targets; leave class or target_ms and quantile out.";
        throw new RepriseError("invalid_request", message, { param: "target_ms" });
      }
      const budgetClass =
        name === undefined ? { targets: [{ quantile, ms: ms ?? 0 }] } : BUDGET_CLASSES[name];
      const { consumer } = await rows.read(toRowQuery(request, keys, WITH_DELIVERY), () => {
        const budget = new LatencyBudget(budgetClass);
        return boundRows({ budget, add: (row: DeliveredRow) => budget.add(toBudgetSample(row)) }, untilMs);
      });
      return {
        object: "analytics.budget",
        ...rangeOf(request),
        class: name ?? "own",
        ...consumer.budget.toReport(),
      };
    },

    async usage(request, untilMs = Infinity) {
      const { groups, other } = await group(request, () => new UsageTotals(priceOf), { untilMs });
      return {
        object: "usage",
        ...rangeOf(request),
        by: request.by,
        data: groups.map(({ key, sum }) => ({ key: named(request.by, key), ...sum.toReport() })),
        ...(other && { other: other.sum.toReport() }),
      };
    },
  };
}

class RowCount {
  add(): void {}
  merge(): void {}
}

/** Summaries by when generations ended. */
class TimePoints {
  readonly #stepUs: number;
  readonly #create: () => GenerationSummary;
  readonly #points = new Map<number, GenerationSummary>();

  constructor(stepUs: number, create: () => GenerationSummary) {
    this.#stepUs = stepUs;
    this.#create = create;
  }

  add(row: DeliveredRow): void {
    this.#at(Math.floor(row.ended_us / this.#stepUs)).add(row);
  }

  merge(other: TimePoints): void {
    for (const [step, summary] of other.#points) this.#at(step).merge(summary);
  }

  /** Steps without generations are left out. */
  toReport(): object[] {
    const sorted = [...this.#points].toSorted(([a], [b]) => a - b);
    return sorted.map(([step, summary]) => {
      const { generations, completed, failed, cancelled, completion, goodput, tokens, latency_ms, stalls } =
        summary.toReport();
      const { queue, first_token: first, between_chunks: gaps, end_to_end: total } = latency_ms;
      const quantiles = (of: typeof queue) => of && { p50: of.p50, p95: of.p95, p99: of.p99 };
      return {
        at: new Date((step * this.#stepUs) / 1_000).toISOString(),
        generations,
        completed,
        failed,
        cancelled,
        completion: completion.share,
        goodput: goodput.share,
        output_tokens: tokens.output,
        stalls: stalls.count,
        queue_ms: quantiles(queue),
        first_token_ms: quantiles(first),
        between_chunks_ms: quantiles(gaps),
        end_to_end_ms: quantiles(total),
      };
    });
  }

  #at(step: number): GenerationSummary {
    let summary = this.#points.get(step);
    if (!summary) this.#points.set(step, (summary = this.#create()));
    return summary;
  }
}

function named(by: readonly string[], key: readonly string[]): Record<string, string> {
  return Object.fromEntries(by.map((name, i) => [name, key[i] ?? ""]));
}

function rangeOf({ from, to }: { readonly from: string; readonly to: string }) {
  return { from, to };
}
