import { type Broker, connectBroker } from "@reprise/broker";

/** A worker's connection to the broker that REPRISE_NATS_URL names, with the user and password in that. */
export function connectBenchWorker(name: string): Promise<Broker> {
  const url = process.env["REPRISE_NATS_URL"];
  if (url === undefined) throw new Error("REPRISE_NATS_URL is not set.");
  return connectBroker({ url, name, user: "inference-worker", onError: console.error });
}
