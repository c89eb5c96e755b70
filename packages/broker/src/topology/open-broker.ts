import { type Broker, type BrokerOptions, connectBroker } from "../nats/connection.ts";
import { ensureTopology, type TopologyOptions } from "./topology.ts";

/**
 * Connects, and sees to it that the streams are there: how every service begins.
 * @throws RepriseError `broker_unavailable`, `broker_incompatible`; no connection is left open then
 */
export async function openBroker(options: BrokerOptions & TopologyOptions): Promise<Broker> {
  const broker = await connectBroker(options);
  try {
    await ensureTopology(broker.main, options);
    return broker;
  } catch (error) {
    await broker.close();
    throw error;
  }
}
