import { expect, test } from "vitest";
import { call, createGeneration, KEYS, openPlatform, REQUEST } from "../testing/platform.ts";

/** All answers about what has expired have to come within it. */
const RETENTION_MS = 15_000;

/** Resolves when nothing of a generation is kept any more: its first event goes before its last. */
async function expiryOf(url: string): Promise<void> {
  await expect
    .poll(async () => (await call(url)).json)
    .toMatchObject({ error: { code: "generation_expired" } });
}

test("a generation that has expired says so to every call, and to its owner alone", async () => {
  await using platform = await openPlatform({ retentionMs: RETENTION_MS });
  const create = `${platform.node.url}/v1/generations`;
  const headers = { "idempotency-key": "k" };
  const { path } = await createGeneration(platform, { headers });
  const url = `${platform.node.url}${path}`;
  await call(`${url}/cancel`, { method: "POST" });
  await expiryOf(url);
  const json = { accept: "application/json" };
  const sse = { accept: "text/event-stream" };
  // At once: what is known of it is kept for as long as it was.
  const answers = await Promise.all([
    call(url),
    call(`${url}/events`, { headers: sse }),
    call(`${url}/events`, { headers: { ...sse, "last-event-id": "0-1" } }),
    call(`${url}/events?after=0-1&wait=10000`, { headers: json }),
    call(`${url}/cancel`, { method: "POST" }),
    call(`${url}/tool-results`, { body: { call_id: "c", output: 1 } }),
    call(create, { body: REQUEST, headers }),
    call(create, { body: REQUEST, headers: { ...headers, ...sse, "last-event-id": "0-1" } }),
  ]);
  const error = { code: "generation_expired", message: expect.any(String), param: "id", retryable: false };
  expect(answers.map(({ status, json: body }) => [status, body])).toEqual(
    answers.map(() => [410, { error }]),
  );
  const { text: metrics } = await call(`${platform.node.opsUrl}/metrics`);
  expect(metrics).toContain('reprise_resumes_total{result="gone"} 2\n');
  expect((await call(url, { key: KEYS.beta })).status).toBe(404);
  expect((await call(create, { body: REQUEST, headers, key: KEYS.beta })).status).toBe(201);
});
