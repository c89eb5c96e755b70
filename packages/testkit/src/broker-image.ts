/** Tried in this order. The log is tested with 2.15; anything from 2.12 on must do. */
const IMAGES = [
  "nats:2.15-alpine",
  "nats:2.15",
  "nats:2.14-alpine",
  "nats:2.14",
  "nats:2.12-alpine",
  "nats:2.12",
  "nats:latest",
];

/** The result of one search, for all processes of a test run: an image, or empty when there is none. */
const RESULT = "TEST_BROKER_IMAGE";

/** The first of our images that the local Docker engine already has; undefined without one, or without an engine. */
export async function findBrokerImage(): Promise<string | undefined> {
  const result = process.env[RESULT] ?? (await searchEngine()) ?? "";
  return result === "" ? undefined : result;
}

/** Searches once and hands the result to every process that this one starts. For vitest's `globalSetup`. */
export async function setup(): Promise<void> {
  process.env[RESULT] = (await findBrokerImage()) ?? "";
}

/** Docker's client takes longer to load than a broker to start: only a search loads it. */
async function searchEngine(): Promise<string | undefined> {
  const { getContainerRuntimeClient, ImageName } = await import("testcontainers");
  const client = await getContainerRuntimeClient().catch(() => undefined);
  if (client === undefined) return undefined;
  for (const image of IMAGES) {
    if (await client.image.exists(ImageName.fromString(image))) return image;
  }
  return undefined;
}
