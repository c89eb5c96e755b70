import { type Hub, GenerationCache } from "@reprise/stream";
import { encodeEvent, asSeq, asStreamSeq } from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { nativeSseFraming } from "../readers/streams/native-sse-framing.ts";
import { delta } from "../testing/platform.ts";
import { readEventPage } from "./event-page.ts";

const REF = createRef();
const NO_HUB = {} as Hub;

function newTail(events = 1): GenerationCache {
  const payloads = Array.from({ length: events }, (_, i) => encodeEvent(asSeq(i), delta(`${i}`)));
  payloads[0] = Buffer.from('{"seq":0,"type":"generation.requested"}');
  return new GenerationCache(REF, nativeSseFraming, { events: payloads, streamSeq: asStreamSeq(events) });
}

describe("a page that waits", () => {
  test("leaves no listener behind when its client goes", async () => {
    const cache = newTail();
    const gone = new AbortController();
    const page = readEventPage({
      hub: NO_HUB,
      cache,
      fromSeq: asSeq(1),
      limit: 10,
      waitMs: 30_000,
      signal: gone.signal,
    });
    expect(cache.readers).toBe(1);
    gone.abort();
    await page;
    expect(cache.readers).toBe(0);
  });

  test("leaves none behind when an event comes, and has it", async () => {
    const cache = newTail();
    const signal = new AbortController().signal;
    const page = readEventPage({ hub: NO_HUB, cache, fromSeq: asSeq(1), limit: 10, waitMs: 30_000, signal });
    cache.events.acceptLive(encodeEvent(asSeq(1), delta("é")), () => asStreamSeq(2));
    cache.notify(() => {});
    expect((await page).json).toBe(
      '{"object":"list","events":[{"seq":1,"type":"output.delta","text":"é"}],"cursor":"0-1","ended":false}',
    );
    expect(cache.readers).toBe(0);
  });

  test("does not wait for a client that is gone already", async () => {
    const cache = newTail();
    const page = readEventPage({
      hub: NO_HUB,
      cache,
      fromSeq: asSeq(1),
      limit: 10,
      waitMs: 30_000,
      signal: AbortSignal.abort(),
    });
    expect(JSON.parse((await page).json)).toMatchObject({ events: [], cursor: "0-0" });
  });
});

test("a page holds at most a mebibyte, but always an event", async () => {
  const big = "x".repeat(700_000);
  const payloads = [newTailEvent(0), ...[1, 2, 3].map((seq) => encodeEvent(asSeq(seq), delta(big)))];
  const cache = new GenerationCache(REF, nativeSseFraming, { events: payloads, streamSeq: asStreamSeq(4) });
  const signal = new AbortController().signal;
  const page = await readEventPage({ hub: NO_HUB, cache, fromSeq: asSeq(2), limit: 10, waitMs: 0, signal });
  expect(page.lastSeq).toBe(2);
  expect(JSON.parse(page.json)).toMatchObject({ cursor: "0-2", events: [{ seq: 2 }] });
});

function newTailEvent(seq: number): Uint8Array {
  return Buffer.from(`{"seq":${seq},"type":"generation.requested"}`);
}
