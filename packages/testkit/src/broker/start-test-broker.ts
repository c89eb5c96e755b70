import { fileURLToPath } from "node:url";
import { findNatsServer } from "@reprise/runtime";
import type { TestBroker, TestBrokerOptions } from "./test-broker.ts";
import { findBrokerImage } from "../broker-image.ts";
import { startBrokerBinary, type StoredBroker } from "./test-broker-binary.ts";

/** Where `npm` set-up keeps what it fetches: the platform's default data folder at the root of the repository. */
const DATA_DIR = fileURLToPath(new URL("../../../../.reprise", import.meta.url));

/**
 * Starts a broker for one test or one file of tests: from a container where a Docker engine answers and already has a fit
 * image (nothing is ever pulled), from the binary that `findNatsServer` finds elsewhere.
 *
 * @throws RepriseError `config_invalid` when there is neither
 */
export async function startTestBroker(options: TestBrokerOptions = {}): Promise<TestBroker> {
  const image = await findBrokerImage();
  if (image === undefined) return startStoredBroker(options);
  const { startBrokerContainer } = await import("./test-broker-container.ts");
  return startBrokerContainer(image, options);
}

/**
 * Starts a broker whose store can be rolled back: always a process of the machine itself.
 * @throws RepriseError `config_invalid` when there is no nats-server
 */
export async function startStoredBroker(options: TestBrokerOptions = {}): Promise<StoredBroker> {
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? DATA_DIR);
  return startBrokerBinary(path, options);
}
