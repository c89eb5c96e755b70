import { type Generation, parseGenerationId, parseTenantId, asSeq, tightenPolicy } from "@reprise/protocol";
import { openSseReader, withSeed } from "@reprise/testkit";
import { jetstreamManager } from "@nats-io/jetstream";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  openPlatform,
  openWorker,
  PATIENT,
  REQUEST,
  started,
} from "../testing/platform.ts";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("a create", () => {
  test("is answered with the generation and its path", async () => {
    await using platform = await openPlatform();
    const body = { ...REQUEST, metadata: { user: "ü" } };
    const { status, headers, json } = await call(`${platform.node.url}/v1/generations`, { body });
    const { id, created_at } = json as Generation;
    expect(status).toBe(201);
    expect(headers.get("location")).toBe(`/v1/generations/${id}`);
    expect(headers.get("reprise-generation-id")).toBe(id);
    expect(new Date(created_at).toISOString()).toBe(created_at);
    expect(json).toEqual({
      id: expect.stringMatching(/^gen_[01]_[0-9a-v]{26}$/),
      object: "generation",
      status: "queued",
      model: "sim",
      text: "",
      usage: { input_tokens: null, output_tokens: 0 },
      error: null,
      finish_reason: null,
      tool_calls: [],
      reviews: [],
      settled: false,
      cursor: "0-0",
      created_at,
      metadata: { user: "ü" },
    });
    expect((await call(`${platform.node.url}/v1/generations/${id}`)).json).toEqual(json);
  });

  test("with a key that was used before joins: the generation as it is now", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const headers = { "idempotency-key": "order-7" };
    const first = await call(url, { headers, body: { model: "sim", input: "hello", seed: 1 } });
    const { id } = first.json as Generation;
    const worker = await openWorker(platform.log, refOf(id));
    await append(worker, started(), delta("Hi"));
    const second = await call(url, { headers, body: { seed: 1, input: "hello", model: "sim" } });
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(second.json).toMatchObject({ id, status: "in_progress", text: "Hi", cursor: "1-2" });
    expect(await jobsQueued(platform.broker)).toBe(1);
  });

  test("with a used key and another request is a conflict and changes nothing", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const headers = { "idempotency-key": "order-7" };
    await call(url, { headers, body: REQUEST });
    const { status, json } = await call(url, { headers, body: { ...REQUEST, seed: 2 } });
    expect(status).toBe(409);
    expect(json).toMatchObject({
      error: { code: "idempotency_conflict", param: "Idempotency-Key", retryable: false },
    });
    expect(await jobsQueued(platform.broker)).toBe(1);
  });

  test("keeps the subject with the request, where it counts as a part of it, and shows it to no reader", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const body = { ...REQUEST, subject: "person-7" };
    const options = { body, headers: { "idempotency-key": "order-7" } };
    const { path, ref, worker } = await createGeneration(platform, options);
    await append(worker, started(), delta("hi"), completed());
    const [requested] = (await platform.log.reader.readLog(ref)).events;
    expect(JSON.parse(Buffer.from(requested!).toString())).toMatchObject({ request: body });
    const joined = await call(url, options);
    const shown = [
      joined,
      await call(`${platform.node.url}${path}`),
      await call(`${platform.node.url}${path}/events`, { headers: { accept: "application/json" } }),
      await call(`${platform.node.url}${path}/events`),
    ];
    expect(shown.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(shown.map(({ text }) => text).join("\n")).not.toContain("person-7");
    expect(platform.node.logged).not.toContain("person-7");
    for (const subject of ["person-8", undefined]) {
      const other = await call(url, { ...options, body: { ...REQUEST, subject } });
      expect(other).toMatchObject({ status: 409, json: { error: { code: "idempotency_conflict" } } });
    }
  });

  test("keeps the priority with the request, refuses an unknown one by name, and tells one with another priority apart", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const headers = { "idempotency-key": "order-7" };
    const batch = { ...REQUEST, priority: "batch" };
    const { ref } = await createGeneration(platform, { body: batch, headers });
    const [requested] = (await platform.log.reader.readLog(ref)).events;
    expect(JSON.parse(Buffer.from(requested!).toString())).toMatchObject({ request: batch });
    expect(await call(url, { headers, body: batch })).toMatchObject({ status: 200 });
    expect(await call(url, { headers, body: REQUEST })).toMatchObject({ status: 409 });
    expect(await call(url, { body: { ...REQUEST, priority: "urgent" } })).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param: "priority" } },
    });
  });

  test("with another tenant's key makes a generation of its own", async () => {
    await using platform = await openPlatform();
    const { url } = platform.node;
    const headers = { "idempotency-key": "order-7" };
    const [ours, theirs] = await Promise.all([
      call(`${url}/v1/generations`, { headers, body: REQUEST }),
      call(`${url}/v1/generations`, { headers, body: REQUEST, key: "rk_beta_0123456789abcdef" }),
    ]);
    expect([ours.status, theirs.status]).toEqual([201, 201]);
    expect((ours.json as Generation).id).not.toBe((theirs.json as Generation).id);
  });

  test("sent many times at once through two nodes makes one generation and one job", async () => {
    await using platform = await openPlatform();
    const nodes = [platform.node, await platform.addNode()];
    await withSeed(20, async (random) => {
      for (let round = 1; round <= 25; round++) {
        const headers = { "idempotency-key": `round-${round}` };
        const send = () => call(`${random.pick(nodes).url}/v1/generations`, { headers, body: REQUEST });
        const answers = await Promise.all(Array.from({ length: random.integer(2, 6) }, send));
        const made = answers.filter(({ status }) => status === 201);
        const joined = answers.filter(({ status }) => status === 200);
        expect([made.length, joined.length]).toEqual([1, answers.length - 1]);
        expect(new Set(answers.map(({ json }) => (json as Generation).id)).size).toBe(1);
        expect(await jobsQueued(platform.broker)).toBe(round);
      }
    });
  });

  test("stores the request, the policy made one and the trace, and drops a trace that is malformed", async () => {
    await using platform = await openPlatform();
    const stored = async (traceparent: string) => {
      const body = { ...REQUEST, policy: { max_attempts: 1 } };
      const { json } = await call(`${platform.node.url}/v1/generations`, { headers: { traceparent }, body });
      const { events } = await platform.log.reader.readLog(refOf((json as Generation).id));
      return JSON.parse(Buffer.from(events[0]!).toString()) as unknown;
    };
    const policy = tightenPolicy(PATIENT, { max_attempts: 1 });
    expect(await stored(TRACE)).toMatchObject({
      seq: 0,
      tenant: "acme",
      request: REQUEST,
      policy,
      traceparent: TRACE.replace(/01$/, "00"),
    });
    expect(await stored("x".repeat(1_000))).not.toHaveProperty("traceparent");
  });
});

describe("a create that asks for an event stream", () => {
  const options = { method: "POST", body: REQUEST } as const;

  test("is answered with the stream itself, and says whose it is", async () => {
    await using platform = await openPlatform();
    const headers = { ...authorization(), "idempotency-key": "s1" };
    await using reader = await openSseReader(`${platform.node.url}/v1/generations`, { ...options, headers });
    expect(reader.status).toBe(201);
    expect(reader.headers).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
    });
    const worker = await openWorker(platform.log, refOf(String(reader.headers["reprise-generation-id"])));
    await append(worker, started(), delta("Hi"), completed());
    expect(await reader.ended).toBe("clean");
    expect(reader.frames.map(({ id }) => id)).toEqual(["1-1", "1-2", "1-3"]);
  });

  test("resumes when it is repeated with its key and a cursor", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const headers = { ...authorization(), "idempotency-key": "s1" };
    await using reader = await openSseReader(url, { ...options, headers });
    const worker = await openWorker(platform.log, refOf(String(reader.headers["reprise-generation-id"])));
    await append(worker, started(), delta("Hi"));
    await reader.nextFrame();
    reader.cut();
    await append(worker, completed());
    await using again = await openSseReader(url, { ...options, headers, lastEventId: "1-1" });
    expect(again.status).toBe(200);
    expect(await again.ended).toBe("clean");
    expect(again.frames.map(({ id }) => id)).toEqual(["1-2", "1-3"]);
    await using over = await openSseReader(url, { ...options, headers, lastEventId: "1-3" });
    expect(over.status).toBe(204);
  });

  test("with an empty cursor is a create like any other", async () => {
    await using platform = await openPlatform();
    const headers = authorization();
    await using reader = await openSseReader(`${platform.node.url}/v1/generations`, {
      ...options,
      headers,
      lastEventId: "",
    });
    expect(reader.status).toBe(201);
  });

  test("with a cursor creates nothing: it needs a key, and something to join", async () => {
    await using platform = await openPlatform();
    const url = `${platform.node.url}/v1/generations`;
    const accept = { accept: "text/event-stream", "last-event-id": "1-1" };
    const keyless = await call(url, { headers: accept, body: REQUEST });
    expect([keyless.status, keyless.json]).toMatchObject([
      400,
      { error: { code: "invalid_request", param: "Idempotency-Key" } },
    ]);
    const unknown = await call(url, { headers: { ...accept, "idempotency-key": "new" }, body: REQUEST });
    expect([unknown.status, unknown.json]).toMatchObject([
      400,
      { error: { code: "cursor_invalid", param: "Last-Event-ID" } },
    ]);
    expect(await jobsQueued(platform.broker)).toBe(0);
  });
});

test("a generation shows its text, usage and end as its log has them", async () => {
  await using platform = await openPlatform();
  const { worker, path } = await createGeneration(platform);
  await append(
    worker,
    started(),
    delta("Hel"),
    { type: "output.rewind", to_seq: asSeq(1), reason: "restart" },
    delta("Hey"),
  );
  const during = await call(`${platform.node.url}${path}`);
  expect(during.json).toMatchObject({
    status: "in_progress",
    text: "Hey",
    cursor: "1-4",
    finish_reason: null,
  });
  const error = { code: "engine_failed", message: "It broke.", retryable: true };
  await append(worker, { type: "generation.failed", error, usage: { input_tokens: 3, output_tokens: 2 } });
  const after = await call(`${platform.node.url}${path}`);
  expect(after.json).toMatchObject({
    status: "failed",
    error,
    usage: { input_tokens: 3, output_tokens: 2 },
    cursor: "1-5",
  });
});

function refOf(id: string) {
  return { tenant: parseTenantId("acme"), generation: parseGenerationId(id) };
}

async function jobsQueued({ main }: { main: Parameters<typeof jetstreamManager>[0] }): Promise<number> {
  const manager = await jetstreamManager(main);
  return (await manager.streams.info("JOBS")).state.messages;
}
