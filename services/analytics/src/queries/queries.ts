import {
  BUDGET_CLASSES,
  FirstGroups,
  GenerationSummary,
  Groups,
  LatencyBudget,
  toBudgetSample,
  toGenerationReport,
  UsageTotals,
  type Accumulator,
  type DeliveredRow,
  type Group,
  type Price,
} from "@reprise/facts";
import {
  ANALYTICS_LIMITS,
  ANALYTICS_STEPS_S,
  type AnalyticsCall,
  type ParsedAnalyticsRequest,
  RepriseError,
} from "@reprise/protocol";
import type { RowQuery, RowSource, RowPosition } from "../facts/row-source.ts";
import { toKeyOf } from "./dimensions.ts";
import { encodeGroupCursor, parseGroupCursor } from "./group-cursor.ts";
import { describeTargets, toRowQuery, toTargets } from "./row-query.ts";

export interface QueriesOptions {
  readonly rows: RowSource;
  /** Keys of the metadata that rows have. */
  readonly keys: readonly string[];
  readonly priceOf: (model: string) => Price | undefined;
}

type Answers = {
  /** @param signal aborts when no one waits for the answer any longer; its reason is thrown */
  readonly [Call in AnalyticsCall]: (
    request: ParsedAnalyticsRequest<Call>,
    signal?: AbortSignal,
  ) => Promise<object>;
};

const US_PER_S = 1_000_000;
/** Groups of a timeseries beside `other`. */
const MOST_LINES = 9;
/** Groups that are summed up apart while rows are read: as `Groups` has them. */
const MOST_KEPT = 1_000;
const DEFAULT_CLASS = "chat-responsive";
const DEFAULT_QUANTILE = 0.95;
/** A page cursor, decoded. */
const POSITION = /^(0|[1-9][0-9]{0,15})\.([A-Za-z0-9_-]{1,64})$/;

/**
 * Answers to questions about rows: the shapes of the HTTP API.
 *
 * All throw RepriseError `invalid_request` for what rows don't have or is too much at once, `archive_unavailable` when rows can't be read.
 */
export function createQueries({ rows, keys, priceOf }: QueriesOptions): Answers {
  /** The largest groups, found in one reading or, where others came first, in two. */
  async function group<Sum extends Accumulator<DeliveredRow, Sum>>(
    query: RowQuery,
    { by, limit }: Pick<ParsedAnalyticsRequest<"summary">, "by" | "limit">,
    create: () => Sum,
  ) {
    const keyOf = toKeyOf(by, keys);
    const first = await rows.read(query, () => new Groups<DeliveredRow, Sum>({ keyOf, create }));
    if (first.hasLargest(limit)) return first.take(limit);
    const only = first.largest(MOST_KEPT);
    return (await rows.read(query, () => new Groups<DeliveredRow, Sum>({ keyOf, create, only }))).take(limit);
  }

  return {
    async summary(request, signal) {
      const targets = toTargets(request);
      const query = toRowQuery(request, keys, { withDelivery: true, signal });
      const { groups, other } = await group(query, request, () => new GenerationSummary(targets));
      return {
        object: "analytics.summary",
        ...rangeOf(request),
        by: request.by,
        targets: describeTargets(targets),
        data: groups.map(({ key, sum }) => ({ key: named(request.by, key), ...sum.toReport() })),
        ...(other && { other: other.sum.toReport() }),
      };
    },

    async timeseries(request, signal) {
      const targets = toTargets(request);
      const stepUs = ANALYTICS_STEPS_S[request.step] * US_PER_S;
      const query = toRowQuery(request, keys, { withDelivery: request.by.includes("read"), signal });
      const lines = request.by.length === 0 ? 1 : MOST_LINES + 1;
      const wanted = Math.ceil((query.toUs - query.fromUs) / stepUs) * lines;
      if (wanted > ANALYTICS_LIMITS.points) {
        const message = `step: ${request.step} makes ${wanted} points of this time${lines > 1 ? ` and ${lines} groups` : ""}, and ${ANALYTICS_LIMITS.points} are the limit.`;
        throw new RepriseError("invalid_request", message, { param: "step" });
      }
      const keyOf = toKeyOf(request.by, keys);
      // Which lines are shown has to be known before any has points: of a thousand groups they would take gigabytes.
      const largest =
        request.by.length === 0
          ? undefined
          : await rows.read(
              query,
              () => new Groups<DeliveredRow, RowCount>({ keyOf, create: () => new RowCount() }),
            );
      const points = await rows.read(
        query,
        () =>
          new Groups<DeliveredRow, TimePoints>({
            keyOf,
            create: () => new TimePoints(stepUs, () => new GenerationSummary(targets)),
            ...(largest && { only: largest.largest(MOST_LINES) }),
          }),
      );
      const { groups, other } = points.take(MOST_LINES);
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

    async generations(request, signal) {
      const after = request.after === undefined ? undefined : parsePageCursor(request.after);
      const { limit } = request;
      // One more than a page shows whether there is another one.
      const found = await rows.page({
        ...toRowQuery(request, keys, { withDelivery: true, signal }),
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

    async budget(request, signal) {
      const { target_ms: ms, quantile = DEFAULT_QUANTILE } = request;
      const name = request.class ?? (ms === undefined ? DEFAULT_CLASS : undefined);
      if (name !== undefined && (ms !== undefined || request.quantile !== undefined)) {
        const message = "target_ms: a class has its own targets; leave class or target_ms and quantile out.";
        throw new RepriseError("invalid_request", message, { param: "target_ms" });
      }
      const ofName =
        name === undefined ? { tokens: 1, targets: [{ quantile, ms: ms ?? 0 }] } : BUDGET_CLASSES[name];
      const budgetClass = { ...ofName, tokens: request.tokens ?? ofName.tokens };
      const { budget } = await rows.read(toRowQuery(request, keys, { withDelivery: true, signal }), () => {
        const sum = new LatencyBudget(budgetClass);
        return { budget: sum, add: (row: DeliveredRow) => sum.add(toBudgetSample(row, budgetClass)) };
      });
      return {
        object: "analytics.budget",
        ...rangeOf(request),
        class: name ?? "own",
        ...budget.toReport(),
      };
    },

    async usage(request, signal) {
      const { by, order, limit, after } = request;
      if (after !== undefined && order !== "key") {
        const message = "after: goes with order=key alone: groups by size have no place that stays.";
        throw new RepriseError("invalid_request", message, { param: "after" });
      }
      const position = after === undefined ? undefined : parseGroupCursor(after, by);
      const { from, to } = position ?? request;
      const withDelivery = by.includes("read");
      const query = toRowQuery({ ...request, from, to }, keys, { withDelivery, signal });
      const create = () => new UsageTotals(priceOf);
      const report = ({ key, sum }: Group<UsageTotals>) => ({ key: named(by, key), ...sum.toReport() });
      const common = { object: "usage", from, to, by };
      if (order === "key") {
        const keyOf = toKeyOf(by, keys);
        const read = await rows.read(
          query,
          () => new FirstGroups({ keyOf, create, after: position?.key, limit }),
        );
        const { groups, hasMore } = read.take();
        const last = hasMore ? groups.at(-1) : undefined;
        return {
          ...common,
          data: groups.map(report),
          ...(last && { next: encodeGroupCursor({ by, from, to, key: last.key }) }),
        };
      }
      const { groups, other } = await group(query, request, create);
      return { ...common, data: groups.map(report), ...(other && { other: other.sum.toReport() }) };
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

/** Encodes the cursor that clients send back as `after`; opaque to them. */
function encodePageCursor({ endedUs, generation }: RowPosition): string {
  return Buffer.from(`${endedUs}.${generation}`).toString("base64url");
}

/** @throws RepriseError `invalid_request` */
function parsePageCursor(after: string): RowPosition {
  const [, endedUs, generation] = POSITION.exec(Buffer.from(after, "base64url").toString()) ?? [];
  if (endedUs !== undefined && generation !== undefined) return { endedUs: Number(endedUs), generation };
  throw new RepriseError("invalid_request", "after is not what a list has given as next.", {
    param: "after",
  });
}
