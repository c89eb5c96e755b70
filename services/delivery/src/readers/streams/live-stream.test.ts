import { GenerationCache } from "@reprise/stream";
import {
  DEFAULT_POLICY,
  encodeEvent,
  encodeSseFrame,
  type EventDraft,
  RepriseError,
  asSeq,
  asStreamSeq,
  asUnixMs,
} from "@reprise/protocol";
import { createRef, requested } from "@reprise/testkit";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { completed, delta, started } from "../../testing/platform.ts";
import { nativeSseFraming, unwrapChunks } from "./native-sse-framing.ts";
import type { SseSocket, SseSocketListener } from "./sse-socket.ts";
import { LiveStream } from "./live-stream.ts";
import { createPrincipal } from "../../testing/principal.ts";

const REF = createRef();

const firstEvent = encodeEvent(asSeq(0), requested(REF));

/** A socket that writes down what is done to it; it takes as much as `room` says before it asks for a pause. */
function recordingSocket(room = Infinity) {
  const writes: string[] = [];
  const ends: ("end" | "breakOff")[] = [];
  let left = room;
  let listener: SseSocketListener | undefined;
  const record = (text: string) => {
    writes.push(text);
    left--;
    return left > 0;
  };
  const socket: SseSocket = {
    writeFrames: (chunks) => record([...unwrapChunks(chunks)].join("")),
    writeText: record,
    together: (write) => write(),
    end: () => void ends.push("end"),
    breakOff: () => void ends.push("breakOff"),
    listen: (stream) => void (listener = stream),
  };
  const drain = () => {
    left = room;
    listener?.drained();
  };
  return { socket, writes, ends, drain };
}

interface StreamSetup {
  room?: number;
  logged?: Uint8Array[];
  intervalMs?: number;
}

/** A stream over a cache that a test fills by hand. `logged` is read by a reader that lags too far. */
function openStream({ room, logged = [], intervalMs = 0 }: StreamSetup = {}) {
  const policy = { ...DEFAULT_POLICY, delivery: { min_interval_ms: intervalMs } };
  const events = [encodeEvent(asSeq(0), requested(REF, {}, policy))];
  const cache = new GenerationCache(REF, nativeSseFraming, { events, streamSeq: asStreamSeq(1) });
  const fake = recordingSocket(room);
  const counts = { eventsDelivered: 0, fallenBack: 0 };
  const errors: RepriseError[] = [];
  const closed: LiveStream[] = [];
  const delivered: number[] = [];
  const readHistory = async (_cache: GenerationCache, fromSeq: number) => logged.slice(fromSeq, fromSeq + 2);
  const stream: LiveStream = new LiveStream({
    hub: { readHistory },
    cache,
    socket: fake.socket,
    nextSeq: asSeq(1),
    counts,
    principal: createPrincipal(),
    role: "read",
    onDelivered: (storedAtMs) => delivered.push(storedAtMs),
    onClose(_reason, error) {
      closed.push(stream);
      if (error) errors.push(error);
    },
  });
  stream.start();
  const feed = (...drafts: EventDraft[]) => {
    for (const draft of drafts)
      cache.events.acceptLive(encodeEvent(asSeq(cache.lastSeq + 1), draft), () => asStreamSeq(0));
    cache.notify(rethrow);
  };
  return { ...fake, stream, cache, counts, errors, closed, delivered, feed };
}

function rethrow(error: unknown): never {
  throw error;
}

describe("a stream", () => {
  test("writes all events of one tick at once", () => {
    const { feed, writes, counts } = openStream();
    feed(started(), delta("a"), delta("b"), delta("c"));
    feed(delta("d"));
    expect(writes.map((text) => text.match(/^data/gm)?.length)).toEqual([4, 1]);
    expect(counts).toEqual({ eventsDelivered: 5, fallenBack: 0 });
  });

  test("ends cleanly after the terminal event, and only there", () => {
    const { feed, ends, closed, stream, cache } = openStream();
    feed(started(), delta("a"));
    expect(ends).toEqual([]);
    feed(completed());
    expect(ends).toEqual(["end"]);
    expect(closed).toEqual([stream]);
    expect(cache.readers).toBe(0);
  });

  test("holds still while its socket is full, and then sends the rest at once", () => {
    const { feed, writes, drain } = openStream({ room: 1 });
    feed(started());
    feed(delta("a"));
    feed(delta("b"));
    expect(writes).toHaveLength(1);
    drain();
    expect(writes).toHaveLength(2);
    expect(writes[1]).toMatch(/"a".*\n\n.*\n.*"b"/);
  });

  test("tells of a sample of the events when each is sent, and of a slow reader of the oldest that it was not sent", () => {
    const { feed, drain, cache, delivered } = openStream({ room: 2 });
    const feedSampled = (storedAtMs: number) => {
      cache.figures.sample.take(asSeq(cache.lastSeq + 1), asUnixMs(storedAtMs));
      feed(delta("x"));
    };
    feed(started());
    feedSampled(1_000);
    expect(delivered).toEqual([1_000]);
    feedSampled(2_000);
    feedSampled(3_000);
    expect(delivered).toEqual([1_000]);
    drain();
    expect(delivered).toEqual([1_000, 2_000]);
    feedSampled(4_000);
    expect(delivered).toEqual([1_000, 2_000, 4_000]);
  });

  test("tells how far its connection has come: what a full socket was handed last is not taken yet", () => {
    const { feed, stream, drain } = openStream({ room: 2 });
    expect(stream.takenSeq).toBe(0);
    feed(started(), delta("a"));
    expect(stream.takenSeq).toBe(2);
    feed(delta("b"));
    feed(delta("c"));
    expect(stream.takenSeq).toBe(2);
    drain();
    expect(stream.takenSeq).toBe(4);
  });

  test("is broken off when its generation is erased, though its socket is full and much was to follow", () => {
    const { feed, stream, cache, writes, ends, closed } = openStream({ room: 1 });
    feed(started());
    feed(delta("secret"));
    expect([stream.sentSeq, stream.takenSeq]).toEqual([1, 0]);
    cache.erase(new RepriseError("generation_erased", "Gone."));
    cache.notify(rethrow);
    expect([ends, closed]).toEqual([["breakOff"], [stream]]);
    expect(writes.at(-1)).toContain("generation_erased");
    expect(writes.join("")).not.toContain("secret");
  });

  test("reads from the log what the hub has let go of, and returns to the hub's memory", async () => {
    const half = Array.from({ length: 50 }, (_, i) => delta(`${i} ${"x".repeat(3_000)}`));
    const drafts = [started(1), ...half, started(2), ...half, completed()];
    const takeover = half.length + 2;
    const logged = [firstEvent, ...drafts.map((draft, i) => encodeEvent(asSeq(i + 1), draft))];
    const { feed, cache, writes, drain, ends, counts, closed } = openStream({ room: 1, logged });
    for (const draft of drafts) feed(draft);
    cache.trim(0);
    expect(cache.shown.frames.firstSeq).toBeGreaterThan(50);
    for (; closed.length === 0; await new Promise(setImmediate)) drain();
    expect(writes.join("")).toBe(
      logged
        .slice(1)
        .map((payload, i) =>
          encodeSseFrame(`${i + 1 < takeover ? 1 : 2}-${i + 1}`, Buffer.from(payload).toString()),
        )
        .join(""),
    );
    expect(ends).toEqual(["end"]);
    expect(counts).toEqual({ eventsDelivered: drafts.length, fallenBack: 1 });
  });

  test("tells of a failure in band and breaks off", () => {
    const { feed, cache, writes, ends, errors } = openStream();
    feed(started());
    cache.failure = new RepriseError("broker_unavailable", "The log is gone.");
    cache.notify(rethrow);
    expect(writes.at(-1)).toBe(
      'event: error\ndata: {"error":{"code":"broker_unavailable","message":"The log is gone.","retryable":true}}\n\n',
    );
    expect(ends).toEqual(["breakOff"]);
    expect(errors).toEqual([cache.failure]);
  });

  test("is kept alive by a comment of one line only when nothing else was sent", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const { feed, stream, writes } = openStream();
    feed(started());
    stream.heartbeat(performance.now() + 999, 1_000);
    expect(writes).toHaveLength(1);
    stream.heartbeat(performance.now() + 1_001, 1_000);
    expect(writes.at(-1)).toBe(": ping\n");
  });

  test("sends no heartbeat to a socket that is full", () => {
    const { feed, stream, writes } = openStream({ room: 1 });
    feed(started());
    stream.heartbeat(performance.now() + 60_000, 1_000);
    expect(writes).toHaveLength(1);
  });

  test("disconnected by a drain gets a retry delay, and nothing more", () => {
    const { feed, stream, writes, ends } = openStream();
    stream.disconnectWithRetry(250.4);
    stream.disconnectWithRetry(1);
    feed(started());
    expect(writes).toEqual(["retry: 250\n"]);
    expect(ends).toEqual(["breakOff"]);
  });
});

describe("a smoothed stream", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const eventsIn = (writes: readonly string[]) => writes.map((text) => text.match(/^data/gm)?.length);

  test("writes the first event at once, and then at most once per interval all that has come", () => {
    const { feed, writes, ends } = openStream({ intervalMs: 100 });
    feed(started());
    feed(delta("a"));
    feed(delta("b"));
    expect(eventsIn(writes)).toEqual([1]);
    vi.advanceTimersByTime(100);
    feed(completed());
    expect([eventsIn(writes), ends]).toEqual([[1, 2], []]);
    vi.advanceTimersByTime(100);
    expect([eventsIn(writes), ends]).toEqual([[1, 2, 1], ["end"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not slowed where it has to catch up", () => {
    const { feed, writes, drain } = openStream({ room: 1, intervalMs: 100 });
    feed(started());
    feed(delta("a"));
    vi.advanceTimersByTime(100);
    expect(eventsIn(writes)).toEqual([1]);
    drain();
    expect(eventsIn(writes)).toEqual([1, 1]);
  });

  test("is kept alive as any other", () => {
    const { stream, writes } = openStream({ intervalMs: 10_000 });
    stream.heartbeat(performance.now() + 1_001, 1_000);
    expect(writes).toEqual([": ping\n"]);
  });

  test("disconnected by a drain leaves no timer behind", () => {
    const { feed, stream } = openStream({ intervalMs: 100 });
    feed(started());
    stream.disconnectWithRetry(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
