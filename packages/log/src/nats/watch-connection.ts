import type { NatsConnection } from "@nats-io/transport-node";

/** Calls back at every loss and return of a connection, until it is closed. */
export function watchConnection(
  connection: NatsConnection,
  { onDown, onUp }: { onDown?: () => void; onUp?: () => void },
): void {
  const watch = async () => {
    for await (const { type } of connection.status()) {
      if (type === "disconnect") onDown?.();
      else if (type === "reconnect") onUp?.();
    }
  };
  void watch();
}
