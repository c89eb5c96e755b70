import { type Broker, BrokerAvailability } from "@reprise/log";
import type { Logger } from "./logger.ts";

/** Whether this process's broker takes appends: for readiness, and for what is not worth a line while it does not. */
export type BrokerWatch = Pick<BrokerAvailability, "because" | "wasAwayWithin">;

/** Watches a process's broker, and logs in one line each that it is away and that it is back. */
export function watchBroker(broker: Broker, shards: number, logger: Logger): BrokerAvailability {
  return new BrokerAvailability({
    broker,
    shards,
    onChange(because) {
      if (because.length > 0) logger.warn({ because }, "the broker takes no appends");
      else logger.info("the broker takes appends again");
    },
  });
}
