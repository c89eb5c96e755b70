import { expect, test } from "vitest";
import { openAuditedPlatform, purge } from "../testing/audited-platform.ts";
import {
  append,
  call,
  completed,
  createGeneration,
  delta,
  KEYS,
  REQUEST,
  started,
} from "../testing/platform.ts";

test("an erased generation says so to every call of its tenant, asks no archive, and is not there for others", async () => {
  await using platform = await openAuditedPlatform();
  const headers = { "idempotency-key": "k" };
  const { path, ref, worker } = await createGeneration(platform, { headers });
  await append(worker, started(), delta("secret"), completed());
  await platform.audit.archive(ref);
  await purge(platform, ref);
  const node = await platform.addNode();
  const [url, create] = [`${node.url}${path}`, `${node.url}/v1/generations`];
  const [json, sse] = [{ accept: "application/json" }, { accept: "text/event-stream" }];
  const answers = [
    await call(url),
    await call(url, { key: KEYS.acmeAuditor }),
    await call(`${url}/events`, { headers: sse }),
    await call(`${url}/events`, { headers: { ...sse, "last-event-id": "0-1" } }),
    await call(`${url}/events?after=0-1&wait=10000`, { headers: json }),
    await call(`${url}/events`, { headers: sse, key: KEYS.acmeAuditor }),
    await call(`${url}/cancel`, { method: "POST" }),
    await call(`${url}/tool-results`, { body: { call_id: "c", output: 1 } }),
    await call(create, { body: REQUEST, headers }),
    await call(create, { body: REQUEST, headers: { ...headers, ...sse, "last-event-id": "0-1" } }),
  ];
  const error = { code: "generation_erased", message: expect.any(String), param: "id", retryable: false };
  expect(answers.map(({ status, json: body }) => [status, body])).toEqual(
    answers.map(() => [410, { error }]),
  );
  expect(platform.audit.calls).toEqual([]);
  for (const at of [url, `${url}/events`]) {
    const { status, json: body } = await call(at, { key: KEYS.beta });
    expect([status, body]).toMatchObject([404, { error: { code: "generation_not_found" } }]);
  }
});
