import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createClient } from "./client.ts";
import { completedLog, MIXED_TEXTS } from "./testing/example-log.ts";
import { type FakeDelivery, type Fault, startFakeDelivery } from "./testing/fake-delivery.ts";
import { cursorOf, FAKE_ID, generationOf } from "./testing/fake-log.ts";
import { createTestClient, createTestRuntime } from "./testing/test-runtime.ts";

const log = completedLog(MIXED_TEXTS);
const request = { model: "sim", input: "Hi" };

function generationsOf(delivery: FakeDelivery, runtime = createTestRuntime()) {
  return createTestClient(`${delivery.url}/`, { runtime }).generations;
}

describe("a call", () => {
  it("sends the key and the request, and answers with the generation", async () => {
    await using delivery = await startFakeDelivery({ log });
    const generations = generationsOf(delivery);
    expect(await generations.create(request, { idempotencyKey: "order-7" })).toEqual(generationOf(log));
    expect(await generations.get(FAKE_ID)).toEqual(generationOf(log));
    expect(await generations.cancel(FAKE_ID, { reason: "asked" })).toEqual(generationOf(log));
    expect(delivery.requests.map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", "/v1/generations", JSON.stringify(request)],
      ["GET", `/v1/generations/${FAKE_ID}`, ""],
      ["POST", `/v1/generations/${FAKE_ID}/cancel`, '{"reason":"asked"}'],
    ]);
    expect(delivery.requests[0]!.headers).toMatchObject({
      authorization: "Bearer rk_x",
      "content-type": "application/json",
      "idempotency-key": "order-7",
    });
  });

  it.each(["..", ".", ""])("with the id %j is not made: it would be another call", async (id) => {
    await using delivery = await startFakeDelivery({ log });
    const generations = generationsOf(delivery);
    const refused = { code: "invalid_request", param: "id" };
    await expect(generations.get(id)).rejects.toMatchObject(refused);
    await expect(generations.cancel(id)).rejects.toMatchObject(refused);
    expect(delivery.requests).toEqual([]);
  });

  it("that creates is repeated with the key of its first try", async () => {
    const faults: Fault[] = [
      { kind: "answer", status: 503 },
      { kind: "answer", status: 429 },
    ];
    await using delivery = await startFakeDelivery({ log, faults });
    const runtime = createTestRuntime();
    const generations = generationsOf(delivery, runtime);
    await generations.create(request);
    await generations.create(request);
    expect(runtime.pauses).toEqual([125, 250]);
    const [first, second, third, other] = delivery.requests.map(({ headers }) => headers["idempotency-key"]);
    expect(first).toMatch(/^[\x21-\x7e]{16,255}$/);
    expect([second, third]).toEqual([first, first]);
    expect(other).not.toBe(first);
  });

  it("is repeated when the server never answers", async () => {
    const runtime = createTestRuntime();
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "silent" }] });
    const armed = runtime.nextWatchdog();
    const arrived = delivery.nextRequest();
    const answer = generationsOf(delivery, runtime).get(FAKE_ID);
    await arrived;
    (await armed)();
    expect(await answer).toEqual(generationOf(log));
  });

  it("fails at once with an error that no retry can mend", async () => {
    const body =
      '{"error":{"code":"idempotency_conflict","message":"Used.","param":"Idempotency-Key","retryable":false}}';
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 409, body }] });
    const failing = generationsOf(delivery).create(request);
    await expect(failing).rejects.toMatchObject({ code: "idempotency_conflict", param: "Idempotency-Key" });
    expect(delivery.requests).toHaveLength(1);
  });

  it("gives up when five minutes of failures are over, and says how long it tried", async () => {
    const faults = Array.from({ length: 200 }, (): Fault => ({ kind: "answer", status: 503 }));
    const runtime = createTestRuntime({ random: () => 0.999 });
    await using delivery = await startFakeDelivery({ log, faults });
    const startMs = runtime.now();
    await expect(generationsOf(delivery, runtime).get(FAKE_ID)).rejects.toMatchObject({
      code: "connection_lost",
      message: expect.stringMatching(/^Gave up after \d+ failure\(s\) in 30\d s/),
    });
    expect(runtime.now() - startMs).toBeGreaterThanOrEqual(300_000);
    expect(delivery.requests.length).toBeGreaterThan(30);
  });

  it("gives up at once where the app wants no retries", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 503 }] });
    const { generations } = createClient({ url: delivery.url, apiKey: "rk_x", retry: { giveUpAfterMs: 0 } });
    await expect(generations.get(FAKE_ID)).rejects.toMatchObject({ code: "connection_lost" });
    expect(delivery.requests).toHaveLength(1);
  });

  it("tries again as soon as the network is back", async () => {
    const runtime = createTestRuntime({ random: () => 0.5 });
    const faults: Fault[] = [{ kind: "answer", status: 503 }];
    await using delivery = await startFakeDelivery({ log, faults });
    runtime.holdPauses();
    const answer = generationsOf(delivery, runtime).get(FAKE_ID);
    await expect.poll(() => runtime.listeners).toBeGreaterThan(0);
    runtime.wake();
    expect(await answer).toEqual(generationOf(log));
    expect(runtime.listeners).toBe(0);
  });

  it.each(["<p>Log in", "null", "[]"])("refuses an answer that is no generation: %s", async (body) => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 200, body }] });
    await expect(generationsOf(delivery).get(FAKE_ID)).rejects.toMatchObject({ code: "protocol_violation" });
  });

  it("leaves nothing on a signal that outlives it, nor does a stream", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 503 }] });
    const { signal } = new AbortController();
    const generations = generationsOf(delivery);
    await generations.get(FAKE_ID, { signal });
    await generations.stream(FAKE_ID, { signal }).done();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("ends with its signal", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "silent" }] });
    const controller = new AbortController();
    const reason = new Error("enough");
    const arrived = delivery.nextRequest();
    const failing = expect(generationsOf(delivery).get(FAKE_ID, { signal: controller.signal })).rejects.toBe(
      reason,
    );
    await arrived;
    controller.abort(reason);
    await failing;
  });
});

describe("a generation that is created and followed in one request", () => {
  it("takes one request, and tells its id before its first event", async () => {
    await using delivery = await startFakeDelivery({ log });
    const stream = generationsOf(delivery).run(request);
    expect([stream.id, delivery.requests.length]).toEqual([undefined, 0]);
    const events = stream[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual(log[0]);
    expect(stream.id).toBe(FAKE_ID);
    expect((await stream.cancel()).id).toBe(FAKE_ID);
    expect(delivery.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
    expect(delivery.requests[0]!.headers.accept).toBe("text/event-stream");
  });

  it("is followed by its id once that is known", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "end", afterEvents: 2 }] });
    await generationsOf(delivery).run(request).done();
    expect(delivery.requests.map(({ method, headers }) => [method, headers["last-event-id"]])).toEqual([
      ["POST", undefined],
      ["GET", cursorOf(2)],
    ]);
  });

  it("joins by its key when the answer got lost", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 504 }] });
    const outcome = await generationsOf(delivery).run(request).done();
    expect(outcome.text).toBe(MIXED_TEXTS.join(""));
    const [first, second] = delivery.requests;
    expect(second).toMatchObject({ method: "POST", body: first!.body });
    expect(second!.headers["idempotency-key"]).toBe(first!.headers["idempotency-key"]);
  });

  it("joins by its key, at its cursor, when a proxy takes the id away", async () => {
    const faults: Fault[] = [{ kind: "end", afterEvents: 2 }];
    await using delivery = await startFakeDelivery({ log, faults, tellsId: false });
    const outcome = await generationsOf(delivery).run(request).done();
    expect(outcome.text).toBe(MIXED_TEXTS.join(""));
    expect(delivery.requests[1]).toMatchObject({ method: "POST", headers: { "last-event-id": cursorOf(2) } });
  });

  it("can be cancelled before it was read: its key leads to the id", async () => {
    await using delivery = await startFakeDelivery({ log });
    const stream = generationsOf(delivery).run(request, { idempotencyKey: "k" });
    await stream.cancel({ reason: "asked" });
    expect(delivery.requests.map(({ url }) => url)).toEqual([
      "/v1/generations",
      `/v1/generations/${FAKE_ID}/cancel`,
    ]);
    expect(stream.id).toBe(FAKE_ID);
  });
});

describe("createClient", () => {
  it.each([
    [{ url: "localhost:8080", apiKey: "k" }, "url"],
    [{ url: "http://x" }, "apiKey"],
    [{ url: "http://x", apiKey: "k", token: "t" }, "apiKey"],
    [{ url: "http://x", apiKey: "a b" }, "apiKey"],
    [{ url: "http://x", token: "ключ" }, "token"],
    [{ url: "http://x", apiKey: "k", idleTimeoutMs: 0 }, "idleTimeoutMs"],
    [{ url: "http://x", apiKey: "k", retry: { giveUpAfterMs: -1 } }, "retry.giveUpAfterMs"],
    [{ url: "http://x", apiKey: "k", retry: { baseDelayMs: Number.NaN } }, "retry.baseDelayMs"],
  ])("refuses %o and names %s", (options, param) => {
    expect(() => createClient(options)).toThrow(expect.objectContaining({ code: "invalid_request", param }));
  });

  it.each(["", "a b", "ключ", "x".repeat(256)])(
    "refuses the idempotency key %j before anything is sent",
    (idempotencyKey) => {
      const { generations } = createClient({ url: "http://x", apiKey: "k" });
      const refusal = expect.objectContaining({ code: "invalid_request", param: "idempotencyKey" });
      expect(() => generations.run(request, { idempotencyKey })).toThrow(refusal);
    },
  );

  it("takes a fetch of the app's own, and says so when that can't stream", async () => {
    const headers = new Headers({ "content-type": "text/event-stream" });
    const fetch = async () => ({ status: 200, headers, body: null, text: async () => "" });
    const { generations } = createClient({ url: "/api", token: "t", fetch });
    await expect(generations.stream(FAKE_ID).done()).rejects.toMatchObject({
      code: "invalid_request",
      param: "fetch",
    });
  });
});
