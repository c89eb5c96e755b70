import { type Broker, BrokerAvailability } from "@reprise/log";
import type { Logger } from "../lifecycle/logger.ts";

/** Whether this process's broker takes appends: for readiness, and for what is not worth a line while it does not. */
export type BrokerWatch = Pick<BrokerAvailability, "because" | "wasAwayWithin">;

/** A watch that its owner ends. */
export interface OwnedBrokerWatch extends BrokerWatch, AsyncDisposable {
  /** Rejects when the broker's logs are spread over another number of shards by now: this process can't go on. */
  readonly failed: Promise<never>;
}

/** Watches a process's broker, and logs in one line each that it is away and that it is back. */
export function watchBroker(broker: Broker, shards: number, logger: Logger): OwnedBrokerWatch {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // It may reject before it is awaited, or in a process that is ending anyway.
  failed.catch(() => {});
  const availability = new BrokerAvailability({
    broker,
    shards,
    onChange(because) {
      if (because.length > 0) logger.warn({ because }, "the broker takes no appends");
      else logger.info("the broker takes appends again");
    },
    onOtherShards: reject,
  });
  return {
    because: () => availability.because(),
    wasAwayWithin: (ms) => availability.wasAwayWithin(ms),
    failed,
    [Symbol.asyncDispose]: () => availability.close(),
  };
}
