import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { generationNotFound, type GenerationRef } from "@reprise/protocol";
import { flushConnection } from "@reprise/broker";
import type { Framing } from "./cache/frame-buffer.ts";
import { type LiveFeedOptions, subscribeLive } from "../read/live-feed.ts";
import type { LogSnapshot } from "../read/stored-event.ts";
import type { LogReader } from "../read/log-reader.ts";
import { GenerationCache } from "./cache/generation-cache.ts";

type OnEvent = LiveFeedOptions["onEvent"];

export interface OpenCacheOptions {
  connection: NatsConnection;
  reader: Pick<LogReader, "readLog">;
  framing: Framing;
  onError: (error: unknown) => void;
}

/** A cache that is caught up with the log, and the live feed that continues from there. */
export interface OpenedCache {
  readonly cache: GenerationCache;
  readonly live: Subscription;
  /** Passes on what the live feed shows, from its beginning. Returns whether it has shown more before than was kept. */
  readonly follow: (onEvent: OnEvent) => boolean;
}

/** A live feed that is listened to before the log is read. What it shows until it is followed is kept, up to a bound. */
export interface BufferedFeed extends Pick<OpenedCache, "live" | "follow">, Disposable {
  /** From now on the feed stays when this is disposed of. */
  keep(): void;
}

/** A generation that was listened to before its first event was stored, and that event. */
export interface NewLog {
  readonly listening: BufferedFeed;
  readonly snapshot: LogSnapshot;
}

/** Maximum events buffered while a log is read; events that do not fit are read from the log too. */
const MAX_EARLY_EVENTS = 128;
const MAX_EARLY_BYTES = 256 * 1_024;

/** To be disposed of; where a hub's `open` has taken it over, that ends nothing. */
export function bufferLiveFeed(
  { connection, onError }: Pick<OpenCacheOptions, "connection" | "onError">,
  ref: GenerationRef,
): BufferedFeed {
  const early: Parameters<OnEvent>[] = [];
  let bytes = 0;
  let missed = false;
  let kept = false;
  let pass: OnEvent = (payload, sequence, msg) => {
    bytes += payload.length;
    if (early.length === MAX_EARLY_EVENTS || bytes > MAX_EARLY_BYTES) missed = true;
    else early.push([Uint8Array.from(payload), sequence, msg]);
  };
  const live = subscribeLive(connection, ref, {
    onEvent: (payload, sequence, msg) => pass(payload, sequence, msg),
    onError,
  });
  return {
    live,
    follow(onEvent) {
      pass = onEvent;
      for (const event of early.splice(0)) onEvent(...event);
      return missed;
    },
    keep: () => void (kept = true),
    [Symbol.dispose]() {
      if (!kept) live.unsubscribe();
    },
  };
}

/**
 * Subscribes before reading, so that nothing falls between the two. The log of a generation that was listened to before it began is
 * not read at all: what its creator has stored is the beginning, and the feed has shown the rest.
 * @throws RepriseError `generation_not_found`, `policy_unsupported`, `broker_unavailable`; no subscription is left then
 */
export async function openGenerationCache(
  options: OpenCacheOptions,
  ref: GenerationRef,
  begun?: NewLog,
): Promise<OpenedCache> {
  const { framing } = options;
  // A load may wait for its turn until the creator has ended the feed: then the log is read like any other.
  const early = begun?.listening.live.isClosed() ? undefined : begun;
  using listening = early?.listening ?? bufferLiveFeed(options, ref);
  const snapshot = early?.snapshot ?? (await readSubscribed(options, ref));
  if (snapshot.events.length === 0) throw generationNotFound();
  const cache = new GenerationCache(ref, framing, snapshot);
  listening.keep();
  return { cache, live: listening.live, follow: listening.follow };
}

async function readSubscribed(
  { connection, reader }: OpenCacheOptions,
  ref: GenerationRef,
): Promise<LogSnapshot> {
  await flushConnection(connection);
  return reader.readLog(ref);
}
