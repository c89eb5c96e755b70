import type { StreamSeq } from "@reprise/protocol";
import { type Broker, BrokerAvailability, type OnStale } from "@reprise/broker";
import type { DependencyWatches, DependencyWatch } from "../lifecycle/dependency-watch.ts";
import { WatchGroup } from "../lifecycle/watch-group.ts";

export interface BrokerWatch {
  /** Why this process's broker takes no appends, for readiness: without a grace period. Empty when it does. */
  readonly because: () => readonly string[];
  /** To be told when something can't be followed in this broker. */
  readonly onStale: OnStale;
  /** The last place of a stream of logs, as of some seconds ago at most; undefined while it is not known. */
  readonly lastStreamSeq: (stream: string) => StreamSeq | undefined;
}

/** A watch that its owner ends. */
export interface OwnedBrokerWatch extends BrokerWatch, AsyncDisposable {
  /** Rejects when the broker's logs are spread over another number of shards by now: this process can't continue. */
  readonly failed: Promise<never>;
  /** Number of replicas of its streams that are missing: servers of a cluster that are away. */
  readonly missingReplicas: () => number;
}

/** Watches a process's broker, and what it follows there. */
export function watchBroker(broker: Broker, shards: number, watches: DependencyWatches): OwnedBrokerWatch {
  const { promise: failed, reject } = Promise.withResolvers<never>();
  // It may reject before it is awaited, or in a process that is ending anyway.
  failed.catch(() => {});
  const watch = watches.add({
    name: "broker",
    gone: "the broker takes no appends",
    back: "the broker takes appends again",
    reports: "changes",
    explains: "broker_unavailable",
  });
  const availability = new BrokerAvailability({
    broker,
    shards,
    onChange(because) {
      if (because.length > 0) watch.failed(because.join("; "));
      else watch.worked();
    },
    onOtherShards: reject,
  });
  return {
    because: () => availability.because(),
    failed,
    missingReplicas: () => availability.missingReplicas,
    lastStreamSeq: (stream) => availability.lastStreamSeq(stream),
    onStale: watchFollowers(watches, watch),
    [Symbol.asyncDispose]: () => availability.close(),
  };
}

/**
 * Watches the parts of the broker that a service follows. If one fails, the service continues with its last data, and is not ready, so that requests go to
 * others. Followers
 * that can't read because the broker is away have no line of their own.
 */
function watchFollowers(watches: DependencyWatches, broker: DependencyWatch): OnStale {
  const followers = new WatchGroup(watches, (what) => ({
    name: `follower:${what}`,
    gone: "a follower can't read the broker, and continues with what it has",
    back: "a follower reads the broker again",
    fields: { what },
    reports: "changes",
    // The follower itself has waited for some seconds.
    graceMs: 0,
    causedBy: broker,
    notReady: (because) => `${what} can't be followed: ${because}`,
  }));
  return (what, failure) => {
    if (failure) followers.of(what).failed(failure.message);
    else followers.of(what).worked();
  };
}
