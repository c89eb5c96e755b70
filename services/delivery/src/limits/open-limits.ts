import type { GenerationLog } from "@reprise/stream";
import type { NodeId } from "@reprise/protocol";
import { type DependencyWatches, type Metrics, watchRedis } from "@reprise/runtime";
import { type BudgetLedger, openShared } from "@reprise/tenancy";
import { createRequestBudgets, type RequestBudgets } from "./request-budgets.ts";
import { RequestLimits } from "./request-limits.ts";
import type { ModelCosts } from "./model-prices.ts";

interface LimitOptions {
  readonly redisUrl?: string | undefined;
  readonly redisTimeoutMs?: number | undefined;
  readonly limitCheckMs?: number | undefined;
  readonly ledger?: BudgetLedger | undefined;
  readonly metricTenants?: number | undefined;
  readonly metrics: Metrics;
  readonly watches: DependencyWatches;
  readonly node: NodeId;
  readonly reader: GenerationLog["reader"];
  readonly costsOf: (model: string) => ModelCosts | undefined;
  readonly onError: (error: unknown) => void;
}

/** Limits and budgets that requests are counted against, shared by all nodes while Redis answers. */
export interface Limits extends AsyncDisposable {
  readonly limits: RequestLimits;
  readonly budgets: RequestBudgets;
  readonly shared: Awaited<ReturnType<typeof openShared>>;
}

export async function openLimits(options: LimitOptions): Promise<Limits> {
  const { redisUrl, metrics, watches, node, onError } = options;
  await using stack = new AsyncDisposableStack();
  const shared = stack.use(
    await openShared({
      redisUrl,
      timeoutMs: options.redisTimeoutMs,
      kind: "delivery",
      process: node,
      ...watchRedis(watches, {
        redisUrl,
        alone: "this node grants its share of each limit and budget",
        together: "limits and budgets are counted over all nodes",
      }),
    }),
  );
  const limited = metrics.counter("reprise_limits_exceeded_total");
  const limits = stack.use(
    new RequestLimits({
      counters: shared.counters,
      reader: options.reader,
      checkMs: options.limitCheckMs,
      onRefused: (limit) => limited.inc({ limit }),
      onError,
    }),
  );
  const budgets = createRequestBudgets({
    metrics,
    metricTenants: options.metricTenants,
    ledger: options.ledger ?? shared.ledger,
    costsOf: options.costsOf,
    onError,
  });
  const owned = stack.move();
  return { limits, budgets, shared, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
