import { describe, expect, it } from "vitest";
import type { GenerationStream } from "./generation-stream.ts";
import { completedLog, MIXED_TEXTS } from "../testing/example-log.ts";
import { type FakeDelivery, type Fault, startFakeDelivery } from "../testing/fake-delivery.ts";
import { cursorOf, encodeFrame, FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient, createTestRuntime, IDLE_TIMEOUT_MS } from "../testing/test-runtime.ts";

const log = completedLog(MIXED_TEXTS);

const clientOf = ({ url }: FakeDelivery, runtime = createTestRuntime()) => createTestClient(url, { runtime });

/** Reads until the stream throws. */
async function failureOf(stream: GenerationStream): Promise<unknown> {
  try {
    for await (const _ of stream);
  } catch (error) {
    return error;
  }
  throw new Error("the stream did not fail");
}

function answer(status: number, code: string, retryable: boolean): Fault {
  const body = JSON.stringify({ error: { code, message: "Because.", param: "p", retryable } });
  return { kind: "answer", status, body };
}

function errorFrame(afterEvents: number, code: string, retryable: boolean): Fault {
  const body = JSON.stringify({ error: { code, message: "Because.", retryable } });
  return { kind: "error_frame", afterEvents, body };
}

describe("an error that no retry can mend", () => {
  it.each([
    ["401", answer(401, "unauthenticated", false), { code: "unauthenticated", param: "p", retryable: false }],
    ["404", answer(404, "generation_not_found", false), { code: "generation_not_found" }],
    ["410", answer(410, "cursor_expired", false), { code: "cursor_expired" }],
    ["410 of a generation", answer(410, "generation_expired", false), { code: "generation_expired" }],
    ["410 of a log that lost its end", answer(410, "events_lost", false), { code: "events_lost" }],
    ["500 of the platform's own", answer(500, "internal", false), { code: "internal" }],
    ["a code of a later version", answer(402, "quota_exhausted", false), { code: "quota_exhausted" }],
    ["a proxy's 403", { kind: "answer", status: 403, body: "<h1>No</h1>" }, { code: "forbidden" }],
    [
      "a page instead of a stream",
      { kind: "answer", status: 200, body: "<p>Log in" },
      { code: "protocol_violation" },
    ],
    ["an error frame", errorFrame(0, "cursor_expired", false), { code: "cursor_expired" }],
    ["a frame that tells of lost events", errorFrame(0, "events_lost", false), { code: "events_lost" }],
    [
      "an event that isn't JSON",
      { kind: "preface", lines: "id: x\ndata: {\n\n" },
      { code: "protocol_violation" },
    ],
    [
      "an event without a cursor",
      { kind: "preface", lines: 'data: {"seq":1,"type":"x"}\n\n' },
      { code: "protocol_violation" },
    ],
  ] satisfies [string, Fault, object][])("ends the stream at once: %s", async (_name, fault, expected) => {
    await using delivery = await startFakeDelivery({ log, faults: [fault] });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    expect(await failureOf(stream)).toMatchObject({ name: "RepriseError", ...expected });
    expect(delivery.requests).toHaveLength(1);
    await expect(stream.done()).rejects.toMatchObject(expected);
  });

  it("leaves what was read before: the text, and a cursor to continue from", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [errorFrame(3, "internal", false)] });
    const { generations } = clientOf(delivery);
    const stream = generations.stream(FAKE_ID);
    expect(await failureOf(stream)).toMatchObject({ code: "internal" });
    expect([stream.text, stream.cursor, stream.status]).toEqual(["Hello, ", cursorOf(3), "in_progress"]);
    const rest = await generations.stream(FAKE_ID, { after: stream.cursor }).done();
    expect(stream.text + rest.text).toBe(MIXED_TEXTS.join(""));
  });
});

describe("a log that has lost events which were handed out", () => {
  it("ends the stream with what it has, and is not resumed with a cursor that no longer means anything", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [errorFrame(3, "events_lost", false)] });
    const { generations } = clientOf(delivery);
    const stream = generations.stream(FAKE_ID);
    expect(await failureOf(stream)).toMatchObject({ code: "events_lost", retryable: false });
    expect([stream.text, stream.status, delivery.requests.length]).toEqual(["Hello, ", "in_progress", 1]);
    expect((await generations.stream(FAKE_ID).done()).text).toBe(MIXED_TEXTS.join(""));
  });

  it("ends a stream that comes back after a break, too", async () => {
    const faults: Fault[] = [{ kind: "end", afterEvents: 3 }, answer(410, "events_lost", false)];
    await using delivery = await startFakeDelivery({ log, faults });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    expect(await failureOf(stream)).toMatchObject({ code: "events_lost" });
    expect([stream.text, delivery.requests.length]).toEqual(["Hello, ", 2]);
  });
});

describe("an error that a retry may mend", () => {
  it.each([
    ["503 of a draining node", answer(503, "draining", true)],
    ["a code of a later version", answer(429, "rate_limited", true)],
    ["a proxy's 502", { kind: "answer", status: 502, body: "<h1>Bad</h1>" }],
    ["a proxy's 408", { kind: "answer", status: 408 }],
    ["an error frame", errorFrame(1, "broker_unavailable", true)],
    ["a malformed error frame", { kind: "error_frame", afterEvents: 1, body: "?" }],
  ] satisfies [string, Fault][])("is retried: %s", async (_name, fault) => {
    await using delivery = await startFakeDelivery({ log, faults: [fault] });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    expect((await stream.done()).text).toBe(MIXED_TEXTS.join(""));
    expect(stream.reconnects).toBe(1);
  });

  it("is retried no sooner than the server said", async () => {
    const date = new Date("2026-11-21T00:00:12Z").toUTCString();
    const faults: Fault[] = [
      { kind: "answer", status: 503, headers: { "retry-after": "7" } },
      { kind: "answer", status: 503, headers: { "retry-after": date } },
      { kind: "preface", lines: "retry: 3000\nevent: error\ndata: {}\n\n" },
    ];
    const runtime = createTestRuntime({ random: () => 0 });
    await using delivery = await startFakeDelivery({ log, faults });
    await clientOf(delivery, runtime).generations.stream(FAKE_ID).done();
    // The date is 12 s after the start, of which the first pause took 7.
    expect(runtime.pauses).toEqual([7_000, 5_000, 3_000]);
  });

  it("ends the stream when it has gone on for five minutes", async () => {
    const faults = Array.from({ length: 200 }, (): Fault => ({ kind: "cut", afterBytes: 3 }));
    await using delivery = await startFakeDelivery({ log, faults });
    const runtime = createTestRuntime();
    const startMs = runtime.now();
    const stream = clientOf(delivery, runtime).generations.stream(FAKE_ID);
    expect(await failureOf(stream)).toMatchObject({
      code: "connection_lost",
      cause: { code: "connection_lost" },
    });
    expect(runtime.now() - startMs).toBeGreaterThanOrEqual(300_000);
  });

  it("ends the stream when no server listens there", async () => {
    const delivery = await startFakeDelivery({ log });
    await delivery[Symbol.asyncDispose]();
    const failure = await failureOf(clientOf(delivery).generations.stream(FAKE_ID));
    expect(failure).toMatchObject({ code: "connection_lost", retryable: true });
  });
});

describe("a reader that goes early", () => {
  it("closes the connection by leaving its loop, and cancels nothing", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "stall", afterEvents: 2 }] });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    const closed = delivery.nextClose();
    for await (const { seq } of stream) if (seq === 2) break;
    await closed;
    expect(delivery.openStreams).toBe(0);
    expect(delivery.requests.map(({ method }) => method)).toEqual(["GET"]);
    await expect(stream.done()).rejects.toMatchObject({ name: "AbortError" });
  });

  it("has the outcome when it leaves its loop on the last event", async () => {
    await using delivery = await startFakeDelivery({ log });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    for await (const { type } of stream) if (type === "generation.completed") break;
    expect(await stream.done()).toMatchObject({ status: "completed", text: MIXED_TEXTS.join("") });
  });

  it("may leave while it waits for the next event", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "stall", afterEvents: 1 }] });
    const events = clientOf(delivery).generations.stream(FAKE_ID)[Symbol.asyncIterator]();
    await events.next();
    const closed = delivery.nextClose();
    const waiting = events.next();
    await events.return!();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await closed;
  });

  it("gets its signal's reason while it waits for an event, or before it began", async () => {
    const reason = new Error("the page was closed");
    const faults: Fault[] = [{ kind: "stall", afterEvents: 1 }];
    await using delivery = await startFakeDelivery({ log, faults });
    const controller = new AbortController();
    const { generations } = clientOf(delivery);
    const events = generations.stream(FAKE_ID, { signal: controller.signal })[Symbol.asyncIterator]();
    await events.next();
    const closed = delivery.nextClose();
    const waiting = events.next();
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await closed;
    const never = generations.stream(FAKE_ID, { signal: controller.signal });
    expect(await failureOf(never)).toBe(reason);
    expect(delivery.requests).toHaveLength(1);
  });

  it("gets its signal's reason between two tries too", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "answer", status: 503 }] });
    const controller = new AbortController();
    const reason = new Error("the page was closed");
    const runtime = createTestRuntime();
    const setTimer: typeof runtime.setTimer = (callback, delayMs) => {
      if (delayMs !== IDLE_TIMEOUT_MS) queueMicrotask(() => controller.abort(reason));
      return runtime.setTimer(callback, delayMs);
    };
    const client = clientOf(delivery, { ...runtime, setTimer });
    expect(await failureOf(client.generations.stream(FAKE_ID, { signal: controller.signal }))).toBe(reason);
    expect(delivery.requests).toHaveLength(1);
  });

  it("gets no event after its signal, though more were read already", async () => {
    await using delivery = await startFakeDelivery({ log });
    const controller = new AbortController();
    const stream = clientOf(delivery).generations.stream(FAKE_ID, { signal: controller.signal });
    const seqs: number[] = [];
    const reading = (async () => {
      for await (const { seq } of stream) {
        seqs.push(seq);
        controller.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    expect(seqs).toEqual([1]);
  });
});

it("can be iterated once", async () => {
  await using delivery = await startFakeDelivery({ log });
  const stream = clientOf(delivery).generations.stream(FAKE_ID);
  await stream.done();
  expect(() => stream[Symbol.asyncIterator]()).toThrow(TypeError);
});

it("holds a frame back until its blank line has come", async () => {
  const half = encodeFrame(log[0]!).length - 1;
  await using delivery = await startFakeDelivery({ log, faults: [{ kind: "cut", afterBytes: half }] });
  const stream = clientOf(delivery).generations.stream(FAKE_ID);
  await stream.done();
  expect(delivery.requests[1]!.headers["last-event-id"]).toBeUndefined();
});
