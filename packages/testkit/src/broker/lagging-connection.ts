import type { NatsConnection } from "@nats-io/transport-node";

const DIRECT_GET = "$JS.API.DIRECT.GET.";

/**
 * A connection whose direct gets are answered by replicas that have heard of nothing behind these places of their streams. Only of
 * `requestMany`, which batches are read with; leaders know everything.
 * @param lastSeqs by the name of the stream
 */
export function createLaggingConnection(
  connection: NatsConnection,
  lastSeqs: Readonly<Record<string, number>>,
): NatsConnection {
  const requestMany: NatsConnection["requestMany"] = async (subject, payload, options) => {
    const replies = await connection.requestMany(subject, payload, options);
    const last = lastSeqs[subject.replace(DIRECT_GET, "")] ?? Number.POSITIVE_INFINITY;
    return (async function* () {
      for await (const reply of replies)
        if (!(Number(reply.headers?.get("Nats-Sequence")) > last)) yield reply;
    })();
  };
  return new Proxy(connection, {
    get(target, name) {
      const own: unknown = name === "requestMany" ? requestMany : Reflect.get(target, name);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
}
