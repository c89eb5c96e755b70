import { asSeq, type EventDraft, RepriseError } from "@reprise/protocol";
import { completed, delta, moderatedPolicy, redacted, started } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { createPrincipal } from "../testing/principal.ts";
import type { SseSocket, SseSocketListener } from "../readers/streams/sse-socket.ts";
import { expectedFrames, framesIn, openCache } from "./cache.fixture.ts";
import { ProjectedFrames } from "./projected-frames.ts";
import { ProjectedStream } from "./projected-stream.ts";
import { echo } from "./test-projection.fixture.ts";

/** A socket that writes down what is done to it; it takes as many writes as `room` says before it asks for a pause. */
function recordingSocket(room = Infinity) {
  const frames: string[] = [];
  const texts: string[] = [];
  const ends: ("end" | "breakOff")[] = [];
  let left = room;
  let listener: SseSocketListener | undefined;
  const socket: SseSocket = {
    writeFrames: (chunks) => (frames.push(...framesIn(chunks)), --left > 0),
    writeText: (text) => (texts.push(text), true),
    together: (write) => write(),
    end: () => void ends.push("end"),
    breakOff: () => void ends.push("breakOff"),
    listen: (stream) => void (listener = stream),
  };
  const drain = () => {
    left = room;
    listener?.drained();
  };
  return { socket, frames, texts, ends, drain };
}

interface StreamSetup {
  readonly opened?: ReturnType<typeof openCache>;
  readonly shared?: ProjectedFrames;
  readonly position?: number;
  readonly room?: number;
}

function openStream({ opened = openCache(), shared, position = 0, room }: StreamSetup = {}) {
  const { cache, hub } = opened;
  const frames = shared ?? new ProjectedFrames({ hub, cache, projection: echo, ids: true });
  cache.attach(frames);
  const fake = recordingSocket(room);
  const errors: RepriseError[] = [];
  const closed: string[] = [];
  const counts = { eventsDelivered: 0, fallenBack: 0 };
  const stream = new ProjectedStream({
    hub,
    cache,
    socket: fake.socket,
    nextSeq: asSeq(1),
    counts,
    principal: createPrincipal(),
    role: "read",
    frames,
    position,
    param: "from",
    errorFrames: ({ code }) => [{ event: "error", data: code }],
    onClose(reason, error) {
      closed.push(reason);
      if (error) errors.push(error);
    },
  });
  stream.start();
  return { ...opened, shared: frames, sent: fake.frames, ...fake, stream, counts, errors, closed };
}

const many = (count: number, text: string): EventDraft[] => Array.from({ length: count }, () => delta(text));

test("a reader is sent the frames as they come, and a clean end after the protocol's own", () => {
  const { feed, sent, ends, cache, closed, stream } = openStream();
  feed(started(), delta("a"));
  expect(sent).toHaveLength(2);
  expect([stream.takenSeq, ends]).toEqual([2, []]);
  feed(delta("b"), completed());
  expect(sent).toEqual(expectedFrames(cache));
  expect([ends, closed, cache.readers]).toEqual([["end"], ["ended"], 0]);
});

test("readers of one projection are sent the same bytes, each from where it is", () => {
  const first = openStream();
  first.feed(started(), ...many(20, "x"));
  const late = openStream({ opened: first, shared: first.shared, position: 13 });
  first.feed(completed());
  const whole = expectedFrames(first.cache);
  expect([first.sent, late.sent]).toEqual([whole, whole.slice(13)]);
  expect([first.ends, late.ends]).toEqual([["end"], ["end"]]);
});

test("a reader whose socket is full is sent the rest later, what is kept no longer for it alone", async () => {
  const slow = openStream({ room: 1 });
  const fast = openStream({ opened: slow, shared: slow.shared });
  slow.feed(started(), delta("first"));
  for (let i = 0; i < 40; i++) {
    slow.feed(...many(50, "x".repeat(100)));
    await slow.shared.catchUp();
  }
  slow.cache.trim(0);
  slow.feed(completed());
  expect(slow.sent).toHaveLength(2);
  expect(slow.stream.takenSeq).toBeLessThan(2);
  await expect.poll(() => (slow.drain(), slow.ends), { interval: 0 }).toEqual(["end"]);
  expect(slow.sent).toEqual(fast.sent);
  expect(slow.counts.fallenBack).toBe(1);
  expect(slow.reads.length).toBeGreaterThan(0);
});

describe("a stream never ends cleanly before the protocol's own end:", () => {
  test("a log that ends without one breaks it", () => {
    const opened = openCache();
    const unending = { ...echo, hasEnded: () => false };
    const { hub, cache } = opened;
    const shared = new ProjectedFrames({ hub, cache, projection: unending, ids: true });
    const { feed, ends, closed } = openStream({ opened, shared });
    feed(started(), completed());
    expect([ends, closed]).toEqual([["breakOff"], ["internal"]]);
  });

  test("an event that the projection can't take breaks it, and the next reader is told so too", async () => {
    const opened = openCache();
    const { hub, cache } = opened;
    const failing = { ...echo, project: () => expect.fail("a defect") };
    const shared = new ProjectedFrames({ hub, cache, projection: failing, ids: true });
    const { feed, ends, closed, texts } = openStream({ opened, shared });
    feed(started());
    expect([ends, closed]).toEqual([["breakOff"], ["internal"]]);
    expect(texts).toEqual(["event: error\ndata: internal\n\n"]);
    await expect(shared.catchUp()).rejects.toThrow("a defect");
  });

  test("an error that does not pass is told as the protocol tells it", () => {
    const { feed, cache, texts, ends, closed } = openStream();
    feed(started(), delta("a"));
    cache.erase(new RepriseError("generation_erased", "erased"));
    cache.notify(() => {});
    expect([texts, ends, closed]).toEqual([
      ["event: error\ndata: generation_erased\n\n"],
      ["breakOff"],
      ["generation_erased"],
    ]);
  });

  test("an error that passes breaks it without a word", () => {
    const { cache, texts, ends } = openStream();
    cache.failure = new RepriseError("broker_unavailable", "away");
    cache.notify(() => {});
    expect([texts, ends]).toEqual([[], ["breakOff"]]);
  });

  test("a node that drains says when to come back, and breaks it", () => {
    const { stream, texts, ends, closed } = openStream();
    stream.disconnectWithRetry(123);
    expect([texts, ends, closed]).toEqual([["retry: 123\n"], ["breakOff"], ["drained"]]);
  });

  test("a position that the projection never comes to is invalid", () => {
    const { feed, ends, errors } = openStream({ position: 9 });
    feed(started(), delta("a"));
    expect(ends).toEqual([]);
    feed(completed());
    expect([ends, errors[0]?.code, errors[0]?.param]).toEqual([["breakOff"], "cursor_invalid", "from"]);
  });
});

describe("of a log that moderation may take text back from", () => {
  const verdict = (judged: number, decided = 0) => ({
    judged: asSeq(judged),
    cleared: asSeq(judged),
    decided: asSeq(decided),
  });

  test("a reader of retract is sent what was judged, and never what was withdrawn", () => {
    const opened = openCache(moderatedPolicy({ mode: "retract" }));
    const { feed, cache, sent, ends, stream } = openStream({ opened });
    feed(started(), delta("a "), delta("SECRET"));
    expect([sent, cache.shownSeq]).toEqual([[], 3]);
    cache.shown.acceptVerdict(verdict(2));
    cache.notify(() => {});
    expect(sent).toHaveLength(2);
    expect(stream.present.takenSeq).toBe(3);
    feed(redacted(3), completed());
    cache.shown.acceptVerdict(verdict(5, 4));
    cache.notify(() => {});
    expect(sent.join("")).not.toContain("SECRET");
    expect(ends).toEqual(["end"]);
  });

  test("a review that is open holds its text, and the end, until it is decided", () => {
    const opened = openCache(moderatedPolicy({ mode: "retract" }));
    const { feed, cache, sent, ends } = openStream({ opened });
    const review: EventDraft = {
      type: "moderation.review",
      review_id: "rev_1",
      from_seq: asSeq(3),
      to_seq: asSeq(3),
      rule: "r",
      category: "c",
      expires_at: "2030-01-01T00:00:00.000Z",
    };
    feed(started(), delta("a "), delta("maybe"), review, completed());
    cache.shown.acceptVerdict(verdict(5));
    cache.notify(() => {});
    expect([sent.length, ends, cache.isOver, cache.isSettled]).toEqual([2, [], true, false]);
    feed({
      type: "moderation.reviewed",
      review_id: "rev_1",
      decision: "edit",
      reviewer: "bob",
      replacement: "no",
    });
    cache.shown.acceptVerdict(verdict(5));
    cache.notify(() => {});
    expect(sent).toHaveLength(2);
    feed(redacted(3, 3, "no"));
    cache.shown.acceptVerdict(verdict(7, 7));
    cache.notify(() => {});
    expect(sent.join("")).not.toContain("maybe");
    expect(ends).toEqual(["end"]);
  });

  test("when moderation is unavailable a reader is broken off without a word, to come back", () => {
    const opened = openCache(moderatedPolicy({ mode: "retract" }));
    const { feed, texts, ends, closed } = openStream({ opened });
    feed(started(), delta("a"), {
      type: "moderation.unavailable",
      answer: "fail_closed",
      judged_seq: asSeq(0),
    });
    expect([texts, ends, closed]).toEqual([["retry: 1000\n"], ["breakOff"], ["moderation_unavailable"]]);
  });
});
