import type { NatsConnection, Subscription } from "@nats-io/transport-node";
import { type GenerationRef, liveSubject } from "@reprise/protocol";
import { HEADER } from "./header.ts";

export interface LiveFeedOptions {
  /**
   * Called for each event that the broker republishes, inside the connection's read loop: it has to be short. `payload` is a
   * view that is valid during the call; `sequence` reads the stream sequence, which costs parsing headers.
   */
  onEvent: (payload: Uint8Array, sequence: () => number) => void;
  /** Told what `onEvent` throws: escaping, it would kill the read loop and leave the connection open and mute. */
  onError: (error: unknown) => void;
}

/** Follows one generation's live feed: a hint of what is stored, at most once. */
export function subscribeLive(
  connection: NatsConnection,
  ref: GenerationRef,
  { onEvent, onError }: LiveFeedOptions,
): Subscription {
  return connection.subscribe(liveSubject(ref), {
    callback: (error, msg) => {
      try {
        if (error) throw error;
        onEvent(msg.data, () => Number(msg.headers?.get(HEADER.sequence)));
      } catch (thrown) {
        onError(thrown);
      }
    },
  });
}
