import { readCertificate } from "./connections/certificate.ts";
import { HttpListener } from "./connections/http-listener.ts";
import type { DeliveryOptions } from "./delivery-options.ts";
import { openNode } from "./open-node.ts";
import { type NamesInUse, PublicNames } from "./public-names.ts";
import { startReaping } from "./reaper/start-reaping.ts";
import { buildServer } from "./server.ts";

export { loadServedModels, toDeliverySettings } from "./config.ts";
export type { DeliveryOptions } from "./delivery-options.ts";
export { loadModelCosts } from "./limits/model-prices.ts";

export interface Delivery extends AsyncDisposable {
  /** Where the API is, without a slash at the end. */
  readonly url: string;
  /** Port of gRPC in the clear; undefined if there is none. */
  readonly grpcPort: number | undefined;
  /** The reasons why it can't serve now, for people to read; empty when it can. */
  notReadyBecause(): readonly string[];
  /** Replaces the public names that requests may use. */
  setNames(names: NamesInUse): void;
  /** Stops being ready, and continues to serve. */
  announceStop(): void;
  /**
   * Stops being ready: new requests are refused and the readers there are disconnected. The port stays open, so that a load
   * balancer can see it.
   */
  drain(): void;
  /** Drains, finishes what was begun, and closes. */
  close(): Promise<void>;
}

const DRAIN_GRACE_MS = 3_000;

/** Starts the one thing that clients talk to. The broker's streams must exist. */
export async function startDelivery(options: DeliveryOptions): Promise<Delivery> {
  const { tls, drainGraceMs = DRAIN_GRACE_MS } = options;
  const certificate = tls && (await readCertificate(tls));
  // What a start that fails would leave open, and a process with it.
  await using stack = new AsyncDisposableStack();
  const names = new PublicNames(options);
  const draining = new AbortController();
  const { server, brokerProblems, waitedUntil } = stack.use(await openNode(options, names, draining.signal));
  const app = await buildServer({ ...options, ...server, certificate });
  const listener = stack.use(new HttpListener(app, { ...options, ...server, tls, certificate }));
  const listening = await listener.listen(options);
  const { readers, log, hub } = server.ports;
  const reaping = startReaping({ ...options, log, hub, waitedUntil });
  const opened = stack.move();

  let isStopping = false;
  const announceStop = () => void (isStopping = true);
  const drain = () => {
    announceStop();
    if (draining.signal.aborted) return;
    draining.abort();
    readers.drain();
    listener.drain();
  };
  const close = async () => {
    drain();
    await listener.close(drainGraceMs);
    await Promise.all([readers.close(), reaping.close()]);
    await opened.disposeAsync();
  };
  return {
    ...listening,
    notReadyBecause: () => [...(isStopping ? ["draining"] : []), ...brokerProblems()],
    setNames: (next) => names.replace(next),
    announceStop,
    drain,
    close,
    [Symbol.asyncDispose]: close,
  };
}
