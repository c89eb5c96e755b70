import { describe, expect, it } from "vitest";
import type { StreamOptions } from "../client.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";
import { numbered } from "../testing/example-log.ts";
import { type FakeDelivery, type Fault, startFakeDelivery } from "../testing/fake-delivery.ts";
import { cursorOf, encodeFrame, FAKE_ID } from "../testing/fake-log.ts";
import { createTestClient, createTestRuntime, IDLE_TIMEOUT_MS } from "../testing/test-runtime.ts";

const found = { rule: "cards", category: "cards" };
const redacted = { type: "moderation.redacted", from_seq: 3, to_seq: 4, replacement: "[redacted]", ...found };
const said = [
  { type: "generation.started", attempt: 1, worker: "w1", model: "sim" },
  ...["Card: ", "4111 1111 ", "1111 1111", "."].map((text) => ({ type: "output.delta", text })),
];
const end = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: 3, output_tokens: 4 },
};
const REDACTED_TEXT = "Card: [redacted].";

/** Moderation is the last to speak: the generation ended before it had judged all of it. */
const late = numbered([...said, end, redacted]);
const TERMINAL = late.length - 1;

const streamOf = ({ url }: FakeDelivery) => createTestClient(url).generations.stream(FAKE_ID);

function errorFrame(afterEvents: number, code: string): Fault {
  return { kind: "error_frame", afterEvents, body: JSON.stringify({ error: { code, message: "Because." } }) };
}

describe("text that moderation has withdrawn", () => {
  it("leaves the stream's text with the event that says so, which the loop gets as any other", async () => {
    await using delivery = await startFakeDelivery({ log: numbered([...said, redacted, end]) });
    const stream = streamOf(delivery);
    const texts: [string, string][] = [];
    for await (const { type } of stream) texts.push([type, stream.text]);
    expect(texts.slice(-3)).toEqual([
      ["output.delta", "Card: 4111 1111 1111 1111."],
      ["moderation.redacted", REDACTED_TEXT],
      ["generation.completed", REDACTED_TEXT],
    ]);
  });

  it("is told once where it had been replaced on the way", async () => {
    const shown = said.map((event, i) =>
      i === 2 || i === 3 ? { ...event, text: i === 2 ? "[redacted]" : "", redacted: true } : event,
    );
    await using delivery = await startFakeDelivery({ log: numbered([...shown, redacted, end]) });
    expect((await streamOf(delivery).done()).text).toBe(REDACTED_TEXT);
  });

  it("ends with a halt: what slips in after it adds nothing", async () => {
    const halted = { type: "moderation.halted", from_seq: 3, replacement: "[stopped]", ...found };
    const filtered = { ...end, finish_reason: "content_filter" };
    const slipped = { type: "output.delta", text: "more" };
    await using delivery = await startFakeDelivery({ log: numbered([...said, halted, slipped, filtered]) });
    const { text, finishReason } = await streamOf(delivery).done();
    expect([text, finishReason]).toEqual(["Card: [stopped]", "content_filter"]);
  });
});

describe("after the terminal event", () => {
  it("a stream is read on to the response's clean end", async () => {
    await using delivery = await startFakeDelivery({ log: late });
    const stream = streamOf(delivery);
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.slice(-2)).toEqual(["generation.completed", "moderation.redacted"]);
    expect(await stream.done()).toMatchObject({ status: "completed", text: REDACTED_TEXT });
    expect(stream.reconnects).toBe(0);
  });

  it.each([
    ["breaks", { kind: "cut", afterBytes: bytesOf(TERMINAL) }],
    ["breaks with an error that passes", errorFrame(TERMINAL, "broker_unavailable")],
  ] satisfies [string, Fault][])("a connection that %s is resumed", async (_name, fault) => {
    await using delivery = await startFakeDelivery({ log: late, faults: [fault] });
    const stream = streamOf(delivery);
    expect((await stream.done()).text).toBe(REDACTED_TEXT);
    expect(stream.reconnects).toBe(1);
  });

  it.each([
    ["fails again", { kind: "answer", status: 503 }, 2],
    ["meets an error that no retry can mend", { kind: "answer", status: 410 }, 2],
  ] satisfies [string, Fault, number][])(
    "a resume that %s leaves the outcome as it is",
    async (_name, fault, requests) => {
      const faults: Fault[] = [{ kind: "cut", afterBytes: bytesOf(TERMINAL) }, fault];
      await using delivery = await startFakeDelivery({ log: late, faults });
      expect(await streamOf(delivery).done()).toMatchObject({ status: "completed" });
      expect(delivery.requests).toHaveLength(requests);
    },
  );
});

it("retries, as after any transient fault, until moderation is available again", async () => {
  const faults = [errorFrame(2, "moderation_unavailable"), errorFrame(0, "moderation_unavailable")];
  await using delivery = await startFakeDelivery({ log: late, faults });
  const stream = streamOf(delivery);
  expect((await stream.done()).text).toBe(REDACTED_TEXT);
  expect(stream.reconnects).toBe(2);
});

describe("reviews that wait when the generation has ended", () => {
  const EXPIRES = "2026-11-21T01:00:00.000Z";
  const asked = {
    type: "moderation.review",
    review_id: "rev_6",
    from_seq: 3,
    to_seq: 4,
    ...found,
    expires_at: EXPIRES,
  };
  const answered = { type: "moderation.reviewed", review_id: "rev_6", decision: "edit", reviewer: "ann" };
  const open = numbered([...said, asked, end]);
  const decided = numbered([...said, asked, end, answered, redacted]).slice(open.length);

  /** A stream of a generation whose review is decided while the stream waits for the n-th time. */
  function openStream(delivery: FakeDelivery, log: StreamEvent[], nth: number, options: StreamOptions) {
    const runtime = createTestRuntime();
    let waits = 0;
    const setTimer: typeof runtime.setTimer = (callback, delayMs) => {
      if (delayMs !== IDLE_TIMEOUT_MS && ++waits === nth) log.push(...decided);
      return runtime.setTimer(callback, delayMs);
    };
    const client = createTestClient(delivery.url, { runtime: { ...runtime, setTimer } });
    return { runtime, stream: client.generations.stream(FAKE_ID, options) };
  }

  it("are shown by a stream, which ends with the generation unless it is told to await them", async () => {
    await using delivery = await startFakeDelivery({ log: open });
    const stream = streamOf(delivery);
    expect((await stream.done()).text).toBe("Card: 4111 1111 1111 1111.");
    expect(stream.pendingReviews).toEqual([{ reviewId: "rev_6", expiresAt: EXPIRES }]);
  });

  it("are awaited where that is asked for, and their decision is obeyed", async () => {
    const log = [...open];
    await using delivery = await startFakeDelivery({ log });
    const { runtime, stream } = openStream(delivery, log, 3, { awaitReviews: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types.slice(-3)).toEqual(["generation.completed", "moderation.reviewed", "moderation.redacted"]);
    expect([stream.text, stream.pendingReviews]).toEqual([REDACTED_TEXT, []]);
    expect(await stream.done()).toMatchObject({ status: "completed", text: REDACTED_TEXT });
    expect([runtime.pauses, stream.reconnects]).toEqual([[33_750, 33_750, 33_750], 3]);
  });

  it("are awaited by a reader that comes back when all was said", async () => {
    const log = [...open];
    await using delivery = await startFakeDelivery({ log });
    const after = cursorOf(open.length);
    const { stream } = openStream(delivery, log, 2, { after, awaitReviews: true });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(["moderation.reviewed", "moderation.redacted"]);
    expect(stream.status).toBe("completed");
  });

  it("are asked for less and less often where none is open and the generation is not settled", async () => {
    await using delivery = await startFakeDelivery({ log: numbered([...said, end]) });
    const runtime = createTestRuntime();
    let answers = 0;
    const fetchUnsettled: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!response.headers.get("content-type")?.includes("json")) return response;
      return Response.json({ ...((await response.json()) as object), settled: ++answers > 4 });
    };
    const client = createTestClient(delivery.url, { runtime, fetch: fetchUnsettled });
    await client.generations.stream(FAKE_ID, { awaitReviews: true }).done();
    expect(runtime.pauses).toEqual([1_125, 2_250, 4_500, 9_000]);
  });

  it("are not awaited where none is", async () => {
    await using delivery = await startFakeDelivery({ log: numbered([...said, end]) });
    const { runtime, stream } = openStream(delivery, [], 0, { awaitReviews: true });
    await stream.done();
    expect(runtime.pauses).toEqual([]);
  });
});

function bytesOf(events: number): number {
  return Buffer.byteLength(late.slice(0, events).map(encodeFrame).join(""));
}
