import type { OnStale } from "@reprise/broker";
import type { DependencyWatch, DependencyWatches } from "../lifecycle/dependency-watch.ts";
import { WatchGroup } from "../lifecycle/watch-group.ts";

/**
 * Watches the parts of the broker that a service follows. If one fails, the service continues with its last data, and is not ready, so that requests go to
 * others. Followers
 * that can't read because the broker is away have no line of their own.
 */
export function watchFollowers(watches: DependencyWatches, broker: DependencyWatch): OnStale {
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
