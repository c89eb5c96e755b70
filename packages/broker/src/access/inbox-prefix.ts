import { createInbox, type NatsConnection } from "@nats-io/transport-node";

const prefixes = new WeakMap<NatsConnection, string>();

/** Has answers over a connection come to subjects that begin with this: where its user may listen. */
export function setInboxPrefix(connection: NatsConnection, prefix: string): void {
  prefixes.set(connection, prefix);
}

/** A new subject for answers, where this connection's user may listen. */
export function newInbox(connection: NatsConnection): string {
  return createInbox(prefixes.get(connection));
}
