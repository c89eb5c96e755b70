import { errors, type NatsConnection } from "@nats-io/transport-node";
import type { Forbidden } from "../access/forbidden.ts";

export interface ConnectionWatch {
  readonly onDown?: () => void;
  readonly onUp?: () => void;
  /** The broker refuses something to this connection's user. It says so some time after the call, which itself succeeds. */
  readonly onForbidden?: (forbidden: Forbidden) => void;
}

/** Calls back at every loss and return of a connection, and at every refusal, until it is closed. */
export function watchConnection(
  connection: NatsConnection,
  { onDown, onUp, onForbidden }: ConnectionWatch,
): void {
  const watch = async () => {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") onDown?.();
      else if (status.type === "reconnect") onUp?.();
      else if (status.type === "error" && status.error instanceof errors.PermissionViolationError)
        onForbidden?.(status.error);
    }
  };
  void watch();
}
