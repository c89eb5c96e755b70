/** The platform that a row needs. */
export interface WorldOptions {
  /** Delivery nodes. Default 2. */
  readonly deliveries?: number;
  /** Workers. Default 2. */
  readonly workers?: number;
  /** Replicas of moderation. Default 0. */
  readonly moderations?: number;
  /** Replicas of the audit log, which share one archive. Default 0. */
  readonly audits?: number;
  /** `single`: one nats-server. `cluster`: three, and each stream three times. Default `single`. */
  readonly broker?: "single" | "cluster";
  /** After how long a silent worker's job goes to another, in milliseconds. Default 1,000; the platform's own is 5,000. */
  readonly ackWaitMs?: number;
  /** True if clients reach delivery through proxies. Default false. The broker is reached through some, but for `directDeliveries`. */
  readonly clientProxies?: boolean;
  /**
   * True if delivery reaches the broker without a proxy of this process, so that no fault there can be made, nor an acknowledgement to
   * delivery be seen. For rows that keep this process busy for longer than a starting node waits for the broker. Default false.
   */
  readonly directDeliveries?: boolean;
  /** True if there is the model `upstream` too, on a model server in this process, with `sim` as its fallback. Default false. */
  readonly upstream?: boolean;
  /** Further environment variables of all services. */
  readonly env?: Readonly<Record<string, string>>;
}

export const DEFAULT_ACK_WAIT_MS = 1_000;
