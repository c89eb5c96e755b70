import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createClient } from "@reprise/client";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster, textOf } from "./testing/cluster.ts";

const schema = {
  type: "object",
  properties: { city: { type: "string" }, people: { type: "integer" } },
  required: ["city", "people"],
};
const REQUEST = {
  model: "shaped",
  input: "Where?",
  response_format: { type: "json_schema", schema },
} as const;
const WHOLE = ['{"city": "Bo', 'nn", "people"', ": 340000}"];

/** A model server whose n-th answer is the n-th of these; one that does not end with its last piece says no more. */
async function startShapedModel(answers: readonly { pieces: readonly string[]; ends: boolean }[]) {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    // Workers ask what it can do, too.
    if (request.method === "GET") return void response.writeHead(404).end();
    const { pieces, ends } = answers[asked++]!;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of pieces) response.write(toChunk({ content }, null));
    if (ends) response.end(`${toChunk({}, "stop")}data: [DONE]\n\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const model = { engine: "openai", dialect: "vllm", continuation: "continue_final_message", base_url };
  return {
    modelsFile: JSON.stringify({ models: { shaped: { ...model, upstream_model: "shaped" } } }),
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function toChunk(delta: object, finishReason: string | null): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finishReason }] })}\n\n`;
}

async function openShaped(answers: Parameters<typeof startShapedModel>[0]) {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await createTempDir("structured"));
  const model = stack.use(await startShapedModel(answers));
  const env = { REPRISE_MODELS_FILE: join(dir.path, "models.json") };
  await writeFile(env.REPRISE_MODELS_FILE, model.modelsFile);
  const cluster = stack.use(await startCluster({ ackWaitMs: 5_000 }));
  const [{ url }, worker] = await Promise.all([cluster.startDelivery(env), cluster.startWorker(env)]);
  const { generations } = createClient({ url, apiKey: cluster.keys["acme"]! });
  const kept = stack.move();
  return { cluster, env, worker, generations, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test("a worker is killed within a form: readers see the half object withdrawn, and then a whole one", async () => {
  const half = { pieces: WHOLE.slice(0, 2), ends: false };
  await using at = await openShaped([half, { pieces: WHOLE, ends: true }]);
  const { cluster, generations } = at;
  const { id } = await generations.create(REQUEST);
  const read = generations.stream(id).done();
  await cluster.untilLog("acme", id, (events) => textOf(events) === half.pieces.join(""));
  at.worker.kill("SIGKILL");
  await cluster.startWorker(at.env);
  const { text, finishReason } = await read;
  expect([JSON.parse(text), finishReason]).toEqual([{ city: "Bonn", people: 340_000 }, "stop"]);
  const events = await cluster.untilLog("acme", id, () => true);
  expect(events.filter(({ type }) => type === "output.rewind")).toMatchObject([{ reason: "worker_lost" }]);
});

test("a whole answer that does not fit its schema is told as such, and its text is kept", async () => {
  const wrong = '{"city": "Bonn"}';
  await using at = await openShaped([{ pieces: [wrong], ends: true }]);
  const { id } = await at.generations.create(REQUEST);
  const { text, status, finishReason } = await at.generations.stream(id).done();
  expect([text, status, finishReason]).toEqual([wrong, "completed", "schema_mismatch"]);
  expect(await at.generations.get(id)).toMatchObject({ text: wrong, finish_reason: "schema_mismatch" });
});
