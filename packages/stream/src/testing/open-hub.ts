import { Hub } from "../hub/hub.ts";
import type { HubOptions } from "../hub/hub-options.ts";
import { createHostileFeed, type FeedFate } from "./hostile-feed.ts";
import { plainFraming } from "./plain-framing.ts";
import type { World } from "./world.ts";

/** A hub with a live feed that passes everything, until it is made mute, and an eager idle probe. */
export function openHub(world: World, options: Partial<HubOptions> = {}) {
  let fate: FeedFate = "pass";
  const feed = createHostileFeed(world.broker.main, () => fate);
  const mute = () => void (fate = "drop");
  const hub = new Hub({
    connection: feed.connection,
    reader: world.log.reader,
    leader: world.log.leader,
    verdicts: world.log.verdicts,
    framing: plainFraming,
    probeMs: 50,
    onError: (error) => world.errors.push(error),
    ...options,
  });
  const isListening = () => feed.subscriptions.some((live) => !live.isClosed());
  return { hub, feed, mute, isListening, [Symbol.dispose]: () => hub.close() };
}
