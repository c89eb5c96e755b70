import type { Generation } from "@reprise/protocol";
import { expect, test } from "vitest";
import {
  append,
  call,
  createGeneration,
  delta,
  KEYS,
  openPlatform,
  REQUEST,
  started,
  toolCall,
} from "../testing/platform.ts";

test("a key without the role read gets a generation's status, and none of its text", async () => {
  await using platform = await openPlatform();
  const { url } = platform.node;
  const headers = { "idempotency-key": "k" };
  const body = { ...REQUEST, response_format: { type: "json_object" } };
  const { path, worker } = await createGeneration(platform, { headers, body });
  const calls = [toolCall("call_1"), toolCall("call_2")];
  await append(worker, started(), ...calls, delta('{"word": "secret words"}'));
  const before = await call(`${url}${path}`);
  expect(before.json).toMatchObject({ partial: { word: "secret words" } });
  const changes = [
    [`${url}/v1/generations`, KEYS.acmeCreator, { body, headers }],
    [`${url}${path}/tool-results`, KEYS.acmeTool, { body: { call_id: "call_1", output: 1 } }],
    [`${url}${path}/cancel`, KEYS.acmeCanceller, { method: "POST" }],
    // It has ended now, and is answered as it is.
    [`${url}${path}/cancel`, KEYS.acmeCanceller, { method: "POST" }],
  ] as const;
  for (const [at, key, options] of changes) {
    const { status, json, text } = await call(at, { ...options, key });
    expect([at, status]).toEqual([at, 200]);
    expect(json).toMatchObject({ object: "generation", cursor: expect.any(String) });
    expect(Object.keys(json as Generation)).not.toContain("text");
    expect(Object.keys(json as Generation)).not.toContain("partial");
    expect(Object.keys(json as Generation)).not.toContain("tool_calls");
    expect(text).not.toMatch(/secret|look_up|word/);
  }
  const { json } = await call(`${url}${path}`);
  expect(json).toMatchObject({ text: '{"word": "secret words"}', status: "cancelled" });
});

test("a create whose answer is the stream needs the role to read it", async () => {
  await using platform = await openPlatform();
  const url = `${platform.node.url}/v1/generations`;
  const accept = "text/event-stream";
  const { status, json } = await call(url, { body: REQUEST, key: KEYS.acmeCreator, headers: { accept } });
  expect([status, json]).toMatchObject([
    403,
    { error: { code: "forbidden", message: expect.stringContaining('"read"') } },
  ]);
  expect((await call(url, { body: REQUEST, key: KEYS.acmeCreator })).status).toBe(201);
});
