import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GenerationStream } from "./generation-stream.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";
import { completedLog, MIXED_TEXTS, numbered } from "../testing/example-log.ts";
import { type Fault, type FakeDelivery, startFakeDelivery } from "../testing/fake-delivery.ts";
import { cursorOf, encodeFrame, FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient, createTestRuntime } from "../testing/test-runtime.ts";

const SEED = 20_261_121;
const log = completedLog(MIXED_TEXTS);

function clientOf(delivery: FakeDelivery, runtime = createTestRuntime()) {
  return createTestClient(delivery.url, { runtime, retry: { giveUpAfterMs: Infinity } });
}

async function readAll(stream: GenerationStream): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

const anyFault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constant("cut" as const), afterBytes: fc.nat(300) }),
  fc.record({ kind: fc.constant("end" as const), afterEvents: fc.nat(4) }),
  fc.record({ kind: fc.constant("repeat" as const), events: fc.integer({ min: 1, max: 9 }) }),
  fc.record({
    kind: fc.constant("error_frame" as const),
    afterEvents: fc.nat(4),
    body: fc.constant('{"error":{"code":"draining","message":"Bye.","retryable":true}}'),
  }),
  fc.constant<Fault>({ kind: "answer", status: 503, headers: { "retry-after": "1" }, body: "<h1>Busy</h1>" }),
);

describe("a stream whose connections break", () => {
  it("hands out every event once and in order, cut at 200 random byte positions of one generation", async () => {
    const cuts = fc.sample(fc.integer({ min: 0, max: 150 }), { seed: SEED, numRuns: 200 });
    const long = completedLog(
      Array.from({ length: 300 }, (_, i) => `${MIXED_TEXTS[i % MIXED_TEXTS.length]}${i}`),
    );
    const faults = cuts.map((afterBytes): Fault => ({ kind: "cut", afterBytes }));
    await using delivery = await startFakeDelivery({ log: long, faults });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    expect(await readAll(stream), `seed ${SEED}`).toEqual(long);
    expect(stream.reconnects).toBe(200);
  });

  it("yields every event once and in order, for any breaks", async () => {
    const run = fc.asyncProperty(
      fc.array(anyFault, { maxLength: 8 }),
      fc.boolean(),
      async (faults, creates) => {
        await using delivery = await startFakeDelivery({ log, faults });
        const { generations } = clientOf(delivery);
        const request = { model: "sim", input: "Hi" };
        const stream = creates ? generations.run(request) : generations.stream(FAKE_ID);
        expect(await readAll(stream)).toEqual(log);
        expect(stream.text).toBe(MIXED_TEXTS.join(""));
      },
    );
    await fc.assert(run, { seed: SEED, numRuns: 60 });
  });

  it("resumes at every single byte position", async () => {
    const short = completedLog(["é🙂"]);
    const bytes = Buffer.byteLength(short.map(encodeFrame).join(""));
    for (let afterBytes = 0; afterBytes < bytes; afterBytes++) {
      await using delivery = await startFakeDelivery({ log: short, faults: [{ kind: "cut", afterBytes }] });
      const events = await readAll(clientOf(delivery).generations.stream(FAKE_ID));
      expect(events, `cut after ${afterBytes} bytes`).toEqual(short);
    }
  });

  it("asks for what follows the last event it handed out, by Last-Event-ID", async () => {
    const faults: Fault[] = [{ kind: "end", afterEvents: 3 }];
    await using delivery = await startFakeDelivery({ log, faults });
    await readAll(clientOf(delivery).generations.stream(FAKE_ID));
    const sent = delivery.requests.map(({ url, headers }) => [url, headers["last-event-id"]]);
    const url = `/v1/generations/${FAKE_ID}/events`;
    expect(sent).toEqual([
      [url, undefined],
      [url, cursorOf(3)],
    ]);
  });

  it("resumes before a hole, and hands out nothing from after it", async () => {
    const faults: Fault[] = [
      { kind: "end", afterEvents: 2 },
      { kind: "skip", events: 1 },
    ];
    await using delivery = await startFakeDelivery({ log, faults });
    expect(await readAll(clientOf(delivery).generations.stream(FAKE_ID))).toEqual(log);
    expect(delivery.requests.map(({ headers }) => headers["last-event-id"]).slice(1)).toEqual([
      cursorOf(2),
      cursorOf(2),
    ]);
  });

  it("takes a connection that goes silent for dead, and closes it", async () => {
    const runtime = createTestRuntime();
    // The second one stays open as well: what closes is the first.
    const faults: Fault[] = Array.from({ length: 2 }, () => ({ kind: "stall", afterEvents: 1 }));
    await using delivery = await startFakeDelivery({ log, faults });
    const events = clientOf(delivery, runtime).generations.stream(FAKE_ID)[Symbol.asyncIterator]();
    await events.next();
    const armed = runtime.nextWatchdog();
    const second = events.next();
    (await armed)();
    expect((await second).value).toEqual(log[1]);
    await expect.poll(() => delivery.openStreams).toBe(1);
    expect(delivery.requests).toHaveLength(2);
    await events.return?.();
  });

  it("takes a server that never answers for dead", async () => {
    const runtime = createTestRuntime();
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "silent" }] });
    const events = clientOf(delivery, runtime).generations.stream(FAKE_ID)[Symbol.asyncIterator]();
    const armed = runtime.nextWatchdog();
    const arrived = delivery.nextRequest();
    const first = events.next();
    await arrived;
    (await armed)();
    expect((await first).value).toEqual(log[0]);
  });
});

describe("a cursor", () => {
  it("stored in the loop resumes with exactly the next event, from anywhere in the log", async () => {
    await using delivery = await startFakeDelivery({ log });
    const { generations } = clientOf(delivery);
    for (let read = 1; read < log.length; read++) {
      const first = generations.stream(FAKE_ID);
      let stored: string | undefined;
      for await (const event of first) {
        if (event.seq !== read) continue;
        stored = first.cursor;
        break;
      }
      expect(await readAll(generations.stream(FAKE_ID, { after: stored }))).toEqual(log.slice(read));
    }
  });

  it("of the app's own is sent as ?after=, and again beside every newer one", async () => {
    await using delivery = await startFakeDelivery({ log, faults: [{ kind: "end", afterEvents: 1 }] });
    const stream = clientOf(delivery).generations.stream(FAKE_ID, { after: cursorOf(4) });
    expect(await readAll(stream)).toEqual(log.slice(4));
    const [first, second] = delivery.requests;
    expect(first!.url).toBe(`/v1/generations/${FAKE_ID}/events?after=${encodeURIComponent(cursorOf(4))}`);
    expect([first!.headers["last-event-id"], second!.headers["last-event-id"]]).toEqual([
      undefined,
      cursorOf(5),
    ]);
    expect(second!.url).toBe(first!.url);
  });

  it("at the end brings no events, but how the generation ended", async () => {
    await using delivery = await startFakeDelivery({ log });
    const stream = clientOf(delivery).generations.stream(FAKE_ID, { after: cursorOf(log.length) });
    expect(await readAll(stream)).toEqual([]);
    expect(stream.status).toBe("completed");
    expect(await stream.done()).toMatchObject({ status: "completed", text: "", finishReason: "stop" });
  });
});

describe("what a stream shows", () => {
  it("is the state after the event in hand", async () => {
    await using delivery = await startFakeDelivery({ log });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    const seen = [];
    for await (const { seq } of stream) seen.push([seq, stream.status, stream.text, stream.cursor]);
    expect(seen.slice(0, 3)).toEqual([
      [1, "in_progress", "", cursorOf(1)],
      [2, "in_progress", "Hel", cursorOf(2)],
      [3, "in_progress", "Hello, ", cursorOf(3)],
    ]);
    expect(seen.at(-1)).toEqual([log.length, "completed", MIXED_TEXTS.join(""), cursorOf(log.length)]);
    expect(stream.usage).toEqual({ input_tokens: 3, output_tokens: 2 });
  });

  it("has rewinds applied and passes on events of types that this client does not know", async () => {
    const usage = { input_tokens: null, output_tokens: 2 };
    const strange = numbered([
      { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
      { type: "output.delta", text: "wrong" },
      { type: "output.rewind", to_seq: 1, reason: "worker_lost" },
      { type: "weather.forecast", sky: "blue" },
      { type: "output.delta", text: "right" },
      { type: "generation.completed", finish_reason: "stop", usage },
    ]);
    await using delivery = await startFakeDelivery({ log: strange });
    const stream = clientOf(delivery).generations.stream(FAKE_ID);
    expect(await readAll(stream)).toEqual(strange);
    expect(stream.text).toBe("right");
  });

  it("is the partial text, as far as it came, when the generation failed", async () => {
    const error = { code: "worker_lost", message: "No worker left.", retryable: true };
    const usage = { input_tokens: 3, output_tokens: 1 };
    const failed = numbered([
      { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
      { type: "output.delta", text: "Hel" },
      { type: "generation.failed", error, usage },
    ]);
    await using delivery = await startFakeDelivery({ log: failed });
    const outcome = await clientOf(delivery).generations.stream(FAKE_ID).done();
    expect(outcome).toMatchObject({ status: "failed", text: "Hel", error, usage, finishReason: undefined });
  });
});
