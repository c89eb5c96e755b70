import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, createClient } from "@reprise/client";
import { createTempDir } from "@reprise/testkit";
import { startCluster } from "../e2e/testing/cluster.ts";

/** What the platform calls the model of the server. */
export const MODEL = "random";

export interface Platform extends AsyncDisposable {
  /** Of its delivery node. */
  readonly url: string;
  readonly key: string;
  readonly client: Client;
}

/** A broker, a delivery node and a worker, whose model is a llama-server's. Resolves once the node has heard what the worker knows of it. */
export async function startPlatformAt(baseUrl: string): Promise<Platform> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await startCluster());
  const dir = stack.use(await createTempDir("models"));
  const file = join(dir.path, "models.json");
  const model = { engine: "openai", base_url: baseUrl, upstream_model: "random", dialect: "llama.cpp" };
  await writeFile(file, JSON.stringify({ models: { [MODEL]: model } }));
  const env = { REPRISE_MODELS_FILE: file };
  const [{ url }] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const key = cluster.keys["acme"]!;
  const client = createClient({ url, apiKey: key });
  // In its first seconds a node waits with this answer, as with creates that need to know.
  await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const begun = stack.move();
  return { url, key, client, [Symbol.asyncDispose]: () => begun.disposeAsync() };
}
