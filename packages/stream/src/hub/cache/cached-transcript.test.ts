import { decodeEvent, encodeEvent, type EventDraft, Transcript, asSeq, asStreamSeq } from "@reprise/protocol";
import { eventually } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { plainFraming } from "../../testing/plain-framing.ts";
import { openHub } from "../../testing/open-hub.ts";
import {
  appendOne,
  completed,
  delta,
  newRef,
  openWorld,
  requested,
  started,
  writeLog,
} from "../../testing/world.ts";
import { GenerationCache } from "./generation-cache.ts";

const REF = newRef();
const redacted: EventDraft = {
  type: "moderation.redacted",
  from_seq: asSeq(2),
  to_seq: asSeq(2),
  replacement: "[withdrawn]",
  rule: "terms",
  category: "terms",
};
const LOG = [
  requested(REF),
  started(),
  ...Array.from({ length: 40 }, (_, i) => delta(`${i} `)),
  redacted,
  delta("more"),
  completed(),
].map((draft, seq) => encodeEvent(asSeq(seq), draft));

test("the transcript of a cache is that of its log at every length, and each event is decoded once", () => {
  const payloadOf = vi.fn<typeof plainFraming.payloadOf>((frame) => plainFraming.payloadOf(frame));
  const cache = new GenerationCache(
    REF,
    { ...plainFraming, payloadOf },
    { events: LOG.slice(0, 2), streamSeq: asStreamSeq(1) },
  );
  for (let seq = 2; seq < LOG.length; seq++) {
    cache.events.acceptLive(LOG[seq]!, () => asStreamSeq(seq));
    payloadOf.mockClear();
    const folded = new Transcript();
    for (const payload of LOG.slice(0, seq + 1)) folded.apply(decodeEvent(payload));
    const { text, status, cursor, usage } = cache.transcript!;
    expect({ text, status, cursor, usage }).toEqual({
      text: folded.text,
      status: folded.status,
      cursor: folded.cursor,
      usage: folded.usage,
    });
    expect(payloadOf.mock.calls.length).toBeLessThanOrEqual(seq === 2 ? 2 : 1);
  }
});

test("what was folded counts as the cache's memory, and goes before its events do", () => {
  const cache = new GenerationCache(REF, plainFraming, {
    events: LOG.slice(0, 30),
    streamSeq: asStreamSeq(1),
  });
  const frames = cache.shown.frames.bytes;
  expect(cache.bytes).toBe(frames);
  const said = cache.transcript!.text;
  expect(cache.bytes).toBeGreaterThan(frames);
  cache.trim(cache.bytes - 1);
  expect([cache.bytes, cache.shown.frames.firstSeq]).toEqual([frames, 1]);
  expect(cache.transcript!.text).toBe(said);
});

test("a cache that has let go of events before folding them has no transcript", () => {
  const long = [requested(REF), started(), ...Array.from({ length: 40 }, () => delta("x".repeat(5_000)))];
  const cache = new GenerationCache(REF, plainFraming, {
    events: long.map((draft, seq) => encodeEvent(asSeq(seq), draft)),
    streamSeq: asStreamSeq(1),
  });
  cache.trim(70_000);
  expect(cache.shown.frames.firstSeq).toBeGreaterThan(1);
  expect(cache.transcript).toBeUndefined();
});

test("the hub's budget holds with what was folded", async () => {
  await using world = await openWorld();
  using opened = openHub(world, { maxBytes: 200_000 });
  const ref = newRef();
  const appender = await writeLog(world.log, ref, 1);
  for (let i = 0; i < 20; i++) await appendOne(appender, delta("x".repeat(5_000)));
  const cache = await opened.hub.open(ref);
  cache.listen(() => {});
  expect(cache.transcript!.text).toHaveLength(100_000 + "0 ".length);
  expect(opened.hub.stats.bytes).toBeGreaterThan(200_000);
  await eventually(() => expect(opened.hub.stats.bytes).toBeLessThanOrEqual(200_000));
});
