import type { NatsConnection } from "@nats-io/transport-node";

const DIRECT_GET = "$JS.API.DIRECT.GET.";

/**
 * A connection whose batched direct gets are answered by replicas that have no messages after these places of their streams. Leaders have all messages.
 * @param lastSeqs by the name of the stream
 */
export function createLaggingConnection(
  connection: NatsConnection,
  lastSeqs: Readonly<Record<string, number>>,
): NatsConnection {
  /** By the subject of the replies. */
  const lastShown = new Map<string, number>();
  const publish: NatsConnection["publish"] = (subject, payload, options) => {
    const last = lastSeqs[subject.replace(DIRECT_GET, "")];
    if (last !== undefined && options?.reply) lastShown.set(options.reply, last);
    connection.publish(subject, payload, options);
  };
  const subscribe: NatsConnection["subscribe"] = (subject, options) =>
    connection.subscribe(subject, {
      ...options,
      callback(error, msg) {
        const last = lastShown.get(msg.subject) ?? Number.POSITIVE_INFINITY;
        if (!(Number(msg.headers?.get("Nats-Sequence")) > last)) void options?.callback?.(error, msg);
      },
    });
  return new Proxy(connection, {
    get(target, name) {
      const replaced: Record<string | symbol, unknown> = { publish, subscribe };
      const own: unknown = replaced[name] ?? Reflect.get(target, name);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
