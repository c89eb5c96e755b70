import type { Broker } from "@reprise/broker";
import { subscribeLateEvents } from "@reprise/moderation";
import { type BrokerWatch, type Metrics, observeLog } from "@reprise/runtime";
import { createGenerationLog, type GenerationLog, Hub, subscribeErasures } from "@reprise/stream";
import { nativeSseFraming } from "./readers/streams/native-sse-framing.ts";
import { watchModeration } from "./review/watch-moderation.ts";

export interface LogsOptions {
  readonly broker: Broker;
  readonly brokerWatch?: BrokerWatch | undefined;
  readonly brokerBudgetMs?: number | undefined;
  readonly shards: number;
  readonly hubBytes: number;
  readonly metrics: Metrics;
  readonly onError: (error: unknown) => void;
}

/** The generations' log, and this node's caches of it. */
export interface Logs extends Disposable {
  readonly log: GenerationLog;
  readonly hub: Hub;
  /** The reasons why the broker takes no appends now; empty when it does. */
  readonly brokerProblems: () => readonly string[];
}

/** Follows erasures and late events until it is disposed of, which drops all caches. */
export function openLogs(options: LogsOptions): Logs {
  const { broker, brokerWatch, shards, metrics, onError } = options;
  using stack = new DisposableStack();
  const log: GenerationLog = createGenerationLog(broker, {
    shards,
    budgetMs: options.brokerBudgetMs,
    observer: observeLog(metrics, "delivery"),
    isAway: () => brokerProblems().length > 0,
  });
  const brokerProblems = () => brokerWatch?.because() ?? (log.connected ? [] : ["not connected to NATS"]);
  const hub = new Hub({
    connection: broker.main,
    reader: log.reader,
    leader: log.leader,
    verdicts: log.verdicts,
    framing: nativeSseFraming,
    maxBytes: options.hubBytes,
    ...watchModeration(log, metrics),
    onError,
  });
  stack.defer(() => hub.close());
  const erasures = subscribeErasures(broker.main, { onErased: (ref) => hub.erase(ref), onError });
  stack.defer(() => erasures.unsubscribe());
  const lateEvents = subscribeLateEvents(broker.main, {
    onLate: (ref, seq) => hub.expect(ref, seq),
    onError,
  });
  stack.defer(() => lateEvents.unsubscribe());
  const owned = stack.move();
  return { log, hub, brokerProblems, [Symbol.dispose]: () => owned.dispose() };
}
