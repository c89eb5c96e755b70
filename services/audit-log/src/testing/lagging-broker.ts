import type { Broker } from "@reprise/log";

type Connection = Broker["reads"];

/** A broker whose direct gets are answered by replicas that have heard of nothing that was stored behind these places. */
export function createLaggingBroker(broker: Broker, lastSeqs: Readonly<Record<string, number>>): Broker {
  const requestMany: Connection["requestMany"] = async (subject, payload, options) => {
    const replies = await broker.reads.requestMany(subject, payload, options);
    const last = lastSeqs[subject.replace("$JS.API.DIRECT.GET.", "")] ?? Number.POSITIVE_INFINITY;
    return (async function* () {
      for await (const reply of replies)
        if (!(Number(reply.headers?.get("Nats-Sequence")) > last)) yield reply;
    })();
  };
  const reads = new Proxy(broker.reads, {
    get(target, name) {
      const own: unknown = name === "requestMany" ? requestMany : Reflect.get(target, name);
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
  return { ...broker, reads };
}
