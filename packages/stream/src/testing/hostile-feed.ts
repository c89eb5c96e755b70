import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";

/** Possible fates of one message of the live feed. A held message comes after the next one that is passed. */
export const FEED_FATES = ["pass", "drop", "repeat", "hold"] as const;
export type FeedFate = (typeof FEED_FATES)[number];

export interface HostileFeed {
  /** To be given to the hub. */
  readonly connection: NatsConnection;
  /** Every subscription to the live feed that was ever made. */
  readonly subscriptions: readonly Subscription[];
}

/** A connection whose live feed treats its n-th message as `fateOf(n, message)` says. All else is the connection itself. */
export function createHostileFeed(
  connection: NatsConnection,
  fateOf: (nth: number, msg: Msg) => FeedFate,
): HostileFeed {
  const subscriptions: Subscription[] = [];
  let nth = 0;
  const subscribe: NatsConnection["subscribe"] = (subject, options = {}) => {
    const { callback } = options;
    if (!subject.startsWith("live.") || !callback) return connection.subscribe(subject, options);
    let held: Msg[] = [];
    const live = connection.subscribe(subject, {
      ...options,
      callback(error, msg) {
        const fate = error ? "pass" : fateOf(nth++, msg);
        if (fate === "drop") return;
        if (fate === "hold") {
          held.push(msg);
          return;
        }
        void callback(error, msg);
        if (fate === "repeat") void callback(error, msg);
        for (const late of held) void callback(null, late);
        held = [];
      },
    });
    subscriptions.push(live);
    return live;
  };
  const hostile = new Proxy(connection, {
    get(target, property) {
      if (property === "subscribe") return subscribe;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { connection: hostile, subscriptions };
}
