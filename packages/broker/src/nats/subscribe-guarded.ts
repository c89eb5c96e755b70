import type { Msg, NatsConnection, Subscription } from "@nats-io/transport-node";

export interface MessageHandlers {
  /** Called for each message, inside the connection's read loop: it has to be short. */
  onMessage: (message: Msg) => void;
  onError: (error: unknown) => void;
}

/** A subscription that tells what `onMessage` throws: escaping, it would kill the read loop and leave the connection open and mute. */
export function subscribeGuarded(
  connection: NatsConnection,
  subject: string,
  { onMessage, onError }: MessageHandlers,
): Subscription {
  return connection.subscribe(subject, {
    callback: (error, message) => {
      try {
        if (error) throw error;
        onMessage(message);
      } catch (thrown) {
        onError(thrown);
      }
    },
  });
}
