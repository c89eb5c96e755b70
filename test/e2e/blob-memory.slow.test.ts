import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { base64HashOf, createTempDir, startMediaModel, uploadPieces } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
/** The bytes in transit depend on the machine; a blob that is held is three times as much. */
const MOST = 10 * MIB;
const PIECE = Buffer.alloc(16 * 1_024, "the same sixteen kilobytes, sent again and again; ");
const PROBE = new URL("testing/memory-probe.ts", import.meta.url).href;

test("a blob of 30 MiB goes up and into a request of a real platform with less than 10 MiB of memory in delivery, and the model server gets every byte", async () => {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("blob-memory"));
  const model = stack.use(await startMediaModel());
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  const reader = {
    engine: "openai",
    base_url: model.baseUrl,
    upstream_model: "m",
    capabilities: { files: true },
  };
  await writeFile(env.REPRISE_MODELS_FILE, JSON.stringify({ models: { reader } }));
  const cluster = stack.use(await startCluster());
  const MEMORY_PROBE_FILE = join(dir.path, "probe");
  const [{ url }] = await Promise.all([
    cluster.startDelivery({ ...env, NODE_OPTIONS: `--import=${PROBE}`, MEMORY_PROBE_FILE }),
    cluster.startWorker(env),
  ]);
  const apiKey = cluster.keys["acme"]!;
  const probe = `http://127.0.0.1:${await readFile(MEMORY_PROBE_FILE, "utf8")}/`;
  const ask = async (method: "GET" | "POST") => Number(await (await fetch(probe, { method })).text());
  const { generations } = createClient({ url, apiKey });
  const run = async (bytes: number) => {
    const blob = await uploadPieces(url, { key: apiKey, piece: PIECE, bytes, sample: () => ask("GET") });
    const { id } = await generations.create({
      model: "reader",
      input: [{ role: "user", content: [{ type: "file", blob }] }],
    });
    const { text } = await generations.stream(id).done();
    return { text, ...model.received() };
  };
  // What the first of its kind loads and compiles.
  await run(4 * MIB);
  await ask("POST");
  const { text, bytes, sha256 } = await run(BYTES);
  expect([text, sha256]).toEqual(["Read.", base64HashOf(PIECE, BYTES)]);
  expect(bytes).toBeGreaterThan((BYTES / 3) * 4);
  expect(await ask("GET")).toBeLessThan(MOST);
});
