import type { Broker } from "@reprise/log";
import { createGenerationLog, Hub } from "@reprise/log";
import { createOpsHandler, type Logger, type Metrics } from "@reprise/service";
import type { TenantDirectory } from "@reprise/tenancy";
import { createAuthenticate } from "./auth.ts";
import { buildServer } from "./server.ts";
import { httpSseFraming } from "./streaming/http-sse-framing.ts";
import { Readers } from "./streaming/readers.ts";

export { type DeliveryEnvironment, loadModelNames, parseDeliveryEnvironment } from "./config.ts";

export interface DeliveryOptions {
  broker: Broker;
  tenants: TenantDirectory;
  models: ReadonlySet<string>;
  logger: Logger;
  metrics: Metrics;
  host: string;
  /** 0 takes a free one. */
  port: number;
  shards: number;
  /** Memory for events of the generations that this node serves. */
  hubBytes: number;
  corsOrigins: readonly string[];
}

export interface Delivery extends AsyncDisposable {
  /** Where the API is, without a slash at the end. */
  readonly url: string;
  /** Takes no new readers, sends those there are home, finishes what was begun, and closes. */
  close(): Promise<void>;
}

/** Starts the one thing that clients talk to. The broker's streams must exist. */
export async function startDelivery(options: DeliveryOptions): Promise<Delivery> {
  const { broker, tenants, models, logger, metrics, host, port, shards, hubBytes, corsOrigins } = options;
  const onError = (error: unknown) => logger.error({ err: error }, "a callback failed");
  const log = createGenerationLog(broker, onError);
  const hub = new Hub({
    connection: broker.main,
    reader: log.reader,
    framing: httpSseFraming,
    maxBytes: hubBytes,
    onError,
  });
  const readers = new Readers();
  const draining = new AbortController();

  metrics.observe("reprise_readers", () => readers.count);
  metrics.observe("reprise_hub_memory_bytes", () => hub.stats.bytes);
  metrics.observe("reprise_hub_generations", () => hub.stats.tails);

  const notReadyBecause = () => [
    ...(draining.signal.aborted ? ["draining"] : []),
    ...(log.connected ? [] : ["not connected to NATS"]),
  ];
  const app = await buildServer({
    context: {
      authenticate: createAuthenticate(tenants),
      log,
      hub,
      readers,
      shards,
      models,
      logger,
      metrics,
      draining: draining.signal,
    },
    ops: createOpsHandler({ metrics, notReadyBecause }),
    corsOrigins,
  });
  const url = await app.listen({ host, port });

  const close = async () => {
    draining.abort();
    readers.drain();
    await app.close();
    hub.close();
    log.close();
  };
  return { url, close, [Symbol.asyncDispose]: close };
}
