import type { Broker } from "@reprise/broker";
import type { BrokerWatch, DependencyWatches, Logger, Metrics } from "@reprise/runtime";
import type { Tracing } from "@reprise/runtime/telemetry";
import type { BudgetLedger, TenantDirectory } from "@reprise/tenancy";
import type { Administration } from "./admin/administration.ts";
import type { DeliverySettings } from "./config.ts";
import type { EgressPorts } from "./egress/dial.ts";
import type { EgressTimes } from "./egress/open-url.ts";
import type { NamesInUse } from "./public-names.ts";

export interface DeliveryOptions extends DeliverySettings, NamesInUse {
  broker: Broker;
  tenants: TenantDirectory;
  /** Ports of the admin API. Default: there is none. */
  administration?: Administration;
  /** Watches whether the broker takes appends. Default: it does while it is connected. */
  brokerWatch?: BrokerWatch;
  /** Watches of this node's dependencies. Default: its own. */
  watches?: DependencyWatches;
  logger: Logger;
  metrics: Metrics;
  /** Default: off. */
  tracing?: Tracing;
  /** After how long without a byte a reader is sent a heartbeat. Default 15 s, as PROTOCOL.md has it. */
  heartbeatMs?: number;
  /** Milliseconds that clients that do not read may hold up `close`. Default 3 s. */
  drainGraceMs?: number;
  /** For how long a presence record counts. Default `PRESENCE_LEASE_MS`. */
  readerLeaseMs?: number;
  /** Milliseconds that a limit check waits for Redis before this node decides alone. Default 250 ms. */
  redisTimeoutMs?: number;
  /** The process's ledger, if delivery shares it with the workers. Default: that of Redis, or its own. */
  ledger?: BudgetLedger | undefined;
  /** Milliseconds between two checks whether generations that hold a share of a limit have ended. Default 60 s. */
  limitCheckMs?: number;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. Default 60 s, as in PROTOCOL.md. */
  arrivalMs?: number;
  /** Milliseconds between two removals of expired blobs. Default 5 min. */
  blobSweepMs?: number;
  /** Milliseconds that a client may take nothing of a blob that it is sent. Default 60 s. */
  blobStallMs?: number;
  /** Overrides of the ports by which URLs are fetched. */
  egress?: Partial<EgressPorts> & { readonly times?: EgressTimes };
  /** Milliseconds that the head of another protocol's answer waits for the first content. Default 30 s, as PROTOCOL.md has it. */
  headWaitMs?: number | undefined;
  /** Milliseconds between two reads of the certificate files. Default 10 s. */
  certificateCheckMs?: number;
  /**
   * Milliseconds that a call that changes a generation continues while the broker does not answer; at most 2 s if the broker is known to be unavailable when
   * the call begins. Default 20 s.
   */
  brokerBudgetMs?: number;
}
