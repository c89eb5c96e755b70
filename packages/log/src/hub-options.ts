import type { NatsConnection } from "@nats-io/transport-node";
import type { Framing } from "./frame-log.ts";
import type { LeaderReader } from "./leader-reader.ts";
import type { LogReader } from "./log-reader.ts";

export interface HubOptions {
  /** Carries the live feed. */
  connection: NatsConnection;
  reader: LogReader;
  leader: LeaderReader;
  framing: Framing;
  /** Memory for events, over all generations. Default 256 MiB. */
  maxBytes?: number;
  /** How long a generation stays in memory after its last reader left, and after its end whoever reads it. Default 60 s. */
  lingerMs?: number;
  /** After how long without an event a generation with readers is compared with its log, at the least. Default 1.5 s. */
  probeMs?: number;
  onError: (error: unknown) => void;
}

export interface HubStats {
  tails: number;
  bytes: number;
  repairs: number;
  probes: number;
}
