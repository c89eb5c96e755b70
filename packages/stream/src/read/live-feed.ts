import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, liveSubject, type StreamSeq } from "@reprise/protocol";
import { streamSeqOf, notPublished, subscribeGuarded } from "@reprise/broker";

export interface LiveFeedOptions {
  /**
   * Called for each event that the broker republishes, inside the connection's read loop: it has to be short. `payload` is a
   * view that is valid during the call; `sequence` reads the stream sequence, which costs parsing headers, as does to read of `msg` when
   * the broker has stored it.
   */
  onEvent: (payload: Uint8Array, sequence: () => StreamSeq, msg: Msg) => void;
  /** Called with what `onEvent` throws. */
  onError: (error: unknown) => void;
}

/** Follows one generation's live feed: a hint of what is stored, at most once. */
export function subscribeLive(
  connection: NatsConnection,
  ref: GenerationRef,
  { onEvent, onError }: LiveFeedOptions,
): Subscription {
  const live = liveSubject(ref);
  const onMessage = (msg: Msg) => {
    // A consumer's message, asked for with this reply subject, comes here with its own subject.
    if (msg.subject !== live) throw notPublished(live);
    // Whether headers are parsed is for `onEvent` to say.
    onEvent(msg.data, () => streamSeqOf(msg), msg);
  };
  return subscribeGuarded(connection, live, { onMessage, onError });
}
