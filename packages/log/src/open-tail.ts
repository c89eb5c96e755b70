import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { generationNotFound, type GenerationRef } from "@reprise/protocol";
import { flushConnection } from "./connection.ts";
import type { Framing } from "./frame-log.ts";
import { type LiveFeedOptions, subscribeLive } from "./live-feed.ts";
import type { LogSnapshot } from "./stored-event.ts";
import type { LogReader } from "./log-reader.ts";
import { Tail } from "./tail.ts";

type OnEvent = LiveFeedOptions["onEvent"];

export interface OpenTailOptions {
  connection: NatsConnection;
  reader: Pick<LogReader, "readLog">;
  framing: Framing;
  onError: (error: unknown) => void;
}

/** A tail that is caught up with the log, and the live feed that goes on from there. */
export interface OpenedTail {
  readonly tail: Tail;
  readonly live: Subscription;
  /** Passes on what the live feed shows, from its beginning. Returns whether it has shown more before than was kept. */
  readonly follow: (onEvent: OnEvent) => boolean;
}

/** A live feed that is listened to before the log is read. What it shows until it is followed is kept, up to a bound. */
export interface Listening extends Pick<OpenedTail, "live" | "follow">, Disposable {
  /** From now on the feed stays when this is disposed of. */
  keep(): void;
}

/** A generation that was listened to before its first event was stored, and that event. */
export interface Begun {
  readonly listening: Listening;
  readonly snapshot: LogSnapshot;
}

/** What comes while a log is read; what does not fit is read from the log too. */
const MAX_EARLY_EVENTS = 128;
const MAX_EARLY_BYTES = 256 * 1_024;

/** To be disposed of; where a hub's `open` has taken it over, that ends nothing. */
export function listenTo(
  { connection, onError }: Pick<OpenTailOptions, "connection" | "onError">,
  ref: GenerationRef,
): Listening {
  const early: [payload: Uint8Array, sequence: () => number][] = [];
  let bytes = 0;
  let missed = false;
  let kept = false;
  let pass: OnEvent = (payload, sequence) => {
    bytes += payload.length;
    if (early.length === MAX_EARLY_EVENTS || bytes > MAX_EARLY_BYTES) missed = true;
    else early.push([Uint8Array.from(payload), sequence]);
  };
  const live = subscribeLive(connection, ref, {
    onEvent: (payload, sequence) => pass(payload, sequence),
    onError,
  });
  return {
    live,
    follow(onEvent) {
      pass = onEvent;
      for (const [payload, sequence] of early.splice(0)) onEvent(payload, sequence);
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
 * @throws RepriseError `generation_not_found`, `broker_unavailable`; no subscription is left then
 */
export async function openTail(
  options: OpenTailOptions,
  ref: GenerationRef,
  begun?: Begun,
): Promise<OpenedTail> {
  const { framing } = options;
  using listening = begun?.listening ?? listenTo(options, ref);
  const snapshot = begun?.snapshot ?? (await readSubscribed(options, ref));
  if (snapshot.events.length === 0) throw generationNotFound();
  const tail = new Tail(ref, framing, snapshot);
  listening.keep();
  return { tail, live: listening.live, follow: listening.follow };
}

async function readSubscribed(
  { connection, reader }: OpenTailOptions,
  ref: GenerationRef,
): Promise<LogSnapshot> {
  await flushConnection(connection);
  return reader.readLog(ref);
}
