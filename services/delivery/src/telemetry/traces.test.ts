import { parseGenerationId, parseTenantId } from "@reprise/protocol";
import { parseTraceparent } from "@reprise/runtime/telemetry";
import { recordSpans } from "@reprise/runtime/telemetry/testing";
import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  JSON_TYPE,
  KEYS,
  openPlatform,
  REQUEST,
  started,
} from "../testing/platform.ts";

const CLIENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const CLIENT_TRACE = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

async function openTraced() {
  const tracing = recordSpans();
  const platform = await openPlatform({ tracing, accessLog: "on" });
  const find = (name: string) => tracing.spans.filter((span) => span.name === name);
  const untilEnded = (name: string, count: number) => expect.poll(() => find(name)).toHaveLength(count);
  const createTraced = (options: Parameters<typeof call>[1] = {}) =>
    call(`${platform.node.url}/v1/generations`, {
      body: REQUEST,
      headers: { traceparent: CLIENT },
      ...options,
    });
  return {
    platform,
    tracing,
    find,
    untilEnded,
    createTraced,
    [Symbol.asyncDispose]: () => platform[Symbol.asyncDispose](),
  };
}

describe("a create", () => {
  test("is a span in the trace of its API key's holder, and queues the job in a child of it", async () => {
    await using traced = await openTraced();
    await traced.createTraced();
    await traced.untilEnded("POST /v1/generations", 1);
    const [request] = traced.find("POST /v1/generations");
    expect(request).toMatchObject({
      kind: "server",
      traceId: CLIENT_TRACE.traceId,
      parentSpanId: CLIENT_TRACE.spanId,
      links: [],
      attributes: {
        "http.request.method": "POST",
        "http.route": "/v1/generations",
        "http.response.status_code": 201,
        "reprise.tenant": "acme",
        "reprise.answer_ms": expect.any(Number),
      },
      error: undefined,
    });
    expect(traced.find("send jobs")).toMatchObject([
      { kind: "producer", traceId: CLIENT_TRACE.traceId, parentSpanId: request?.spanId },
    ]);
  });

  test("leaves its span, not the client's, in the generation's seq 0", async () => {
    await using traced = await openTraced();
    const { json } = await traced.createTraced();
    await traced.untilEnded("POST /v1/generations", 1);
    const { id } = json as { id: string };
    const { events } = await traced.platform.log.reader.readLog({
      tenant: parseTenantId("acme"),
      generation: parseGenerationId(id),
    });
    const { traceparent } = JSON.parse(Buffer.from(events[0] ?? []).toString()) as { traceparent: string };
    const [request] = traced.find("POST /v1/generations");
    expect(parseTraceparent(traceparent)).toEqual({
      traceId: CLIENT_TRACE.traceId,
      spanId: request?.spanId,
      sampled: true,
    });
  });

  test("with an end user's token is a trace of its own, with a link to what the token's holder has named", async () => {
    await using traced = await openTraced();
    const minted = await call(`${traced.platform.node.url}/v1/tokens`, {
      body: { scopes: ["create", "read"], end_user: "u-7" },
    });
    const { token } = minted.json as { token: string };
    await traced.createTraced({
      body: REQUEST,
      headers: { traceparent: CLIENT, authorization: `Bearer ${token}` },
    });
    await traced.untilEnded("POST /v1/generations", 1);
    const [request] = traced.find("POST /v1/generations");
    expect(request).toMatchObject({ parentSpanId: undefined, links: [CLIENT_TRACE] });
    expect(request?.traceId).not.toBe(CLIENT_TRACE.traceId);
  });
});

describe("requests", () => {
  test("that are refused say the code, and only those that fail here have failed", async () => {
    await using traced = await openTraced();
    await traced.createTraced({ body: { model: "none", input: "x" } });
    await traced.untilEnded("POST /v1/generations", 1);
    expect(traced.find("POST /v1/generations")).toMatchObject([
      { attributes: { "error.type": "model_not_found", "http.response.status_code": 404 }, error: undefined },
    ]);
  });

  test("of strangers, and preflights, make no span", async () => {
    await using traced = await openTraced();
    const { url } = traced.platform.node;
    await traced.createTraced({ body: REQUEST, key: "rk_unknown_0123456789abcdef" });
    await call(`${url}/v1/generations`, { method: "OPTIONS", headers: { origin: "https://a.example" } });
    await traced.createTraced();
    await traced.untilEnded("POST /v1/generations", 1);
    expect(traced.tracing.spans.map(({ name }) => name).toSorted()).toEqual([
      "POST /v1/generations",
      "send jobs",
    ]);
  });

  test("have their trace's ids in the access log", async () => {
    await using traced = await openTraced();
    const { json } = await traced.createTraced();
    await traced.untilEnded("POST /v1/generations", 1);
    const [request] = traced.find("POST /v1/generations");
    const { node } = traced.platform;
    await expect.poll(() => node.logged).toContain('"msg":"request"');
    const line = node.logged.split("\n").find((text) => text.includes('"msg":"request"')) ?? "";
    expect(JSON.parse(line)).toMatchObject({
      trace_id: CLIENT_TRACE.traceId,
      span_id: request?.spanId,
      generation: (json as { id: string }).id,
      model: "sim",
      first_byte_ms: expect.any(Number),
    });
  });

  test("are not exported when their caller does not sample", async () => {
    await using traced = await openTraced();
    await traced.createTraced({ body: REQUEST, headers: { traceparent: CLIENT.replace(/01$/, "00") } });
    expect(traced.tracing.spans).toEqual([]);
  });
});

describe("a reader", () => {
  test("has a span in the trace of the create, with a link to its own request", async () => {
    await using traced = await openTraced();
    const { platform } = traced;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), delta("a"), completed());
    await using reader = await openSseReader(`${platform.node.url}${path}/events`, {
      headers: { ...authorization(KEYS.acmeReader), traceparent: CLIENT },
    });
    expect(await reader.ended).toBe("clean");
    await traced.untilEnded("GET /v1/generations/:id/events", 1);
    await traced.untilEnded("deliver", 1);
    const [create] = traced.find("POST /v1/generations");
    const [request] = traced.find("GET /v1/generations/:id/events");
    expect(traced.find("deliver")).toMatchObject([
      {
        kind: "consumer",
        traceId: create?.traceId,
        parentSpanId: create?.spanId,
        links: [{ traceId: request?.traceId, spanId: request?.spanId }],
        attributes: { "reprise.from_seq": 1, "reprise.last_seq": 3, "reprise.resumed": false },
        events: [{ name: "first_event" }],
        error: undefined,
      },
    ]);
    expect(request?.traceId).toBe(CLIENT_TRACE.traceId);
    const usage = Object.keys(traced.find("deliver")[0]?.attributes ?? {}).filter((name) =>
      name.includes("usage"),
    );
    expect(usage).toEqual([]);
  });

  test("of a generation that an older version has created has a trace of its own", async () => {
    await using traced = await openTraced();
    const { platform } = traced;
    // A node that traces nothing stores no span of its own.
    const untraced = await platform.addNode();
    const { json } = await call(`${untraced.url}/v1/generations`, { body: REQUEST });
    const { id } = json as { id: string };
    const left = await openSseReader(`${platform.node.url}/v1/generations/${id}/events`, {
      headers: authorization(),
    });
    left.cut();
    await traced.untilEnded("deliver", 1);
    expect(traced.find("deliver")).toMatchObject([{ parentSpanId: undefined, events: [], error: undefined }]);
  });

  test("beyond the 32nd of a generation has none, and is counted", async () => {
    await using traced = await openTraced();
    const { platform } = traced;
    const { path, worker } = await createGeneration(platform);
    await append(worker, started());
    const readers = [];
    for (let opened = 0; opened < 34; opened++) {
      const reader = await openSseReader(`${platform.node.url}${path}/events`, {
        headers: authorization(),
      });
      await reader.nextFrame();
      readers.push(reader);
    }
    await append(worker, completed());
    for (const reader of readers) expect(await reader.ended).toBe("clean");
    await traced.untilEnded("deliver", 32);
    const leftOut = traced
      .find("deliver")
      .map(({ attributes }) => attributes["reprise.readers_without_span"]);
    expect(leftOut.filter((count) => count !== undefined)).toEqual([2]);
  });
});

test("nothing that a client or a model says is in a span", async () => {
  await using traced = await openTraced();
  const { platform } = traced;
  const S = "s3cretS3CRET";
  const body = {
    ...REQUEST,
    input: S,
    metadata: { order: S },
    end_user: S,
    options: { text: S },
    tools: [{ name: S, description: S, parameters: {} }],
  };
  const { json } = await traced.createTraced({
    body,
    headers: { "idempotency-key": S, "user-agent": S, traceparent: S, tracestate: S },
  });
  await traced.createTraced({ body: `{"input": "${S}`, headers: JSON_TYPE });
  await call(`${platform.node.url}/v1/generations/${S}?token=${S}`);
  await call(`${platform.node.url}/${S}`);
  await traced.untilEnded("POST /v1/generations", 2);
  expect(json).toMatchObject({ id: expect.any(String) });
  expect(JSON.stringify(traced.tracing.spans)).not.toContain(S);
  expect(JSON.stringify(traced.tracing.spans)).not.toContain(KEYS.acme);
});
