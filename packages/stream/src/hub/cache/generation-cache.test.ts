import {
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  asSeq,
  asStreamSeq,
  type StreamSeq,
} from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainFraming } from "../../testing/plain-framing.ts";
import { cancelled, completed, delta, newRef, requested, started } from "../../testing/world.ts";
import { compareSeq } from "./cached-events.ts";
import { GenerationCache } from "./generation-cache.ts";

const REF = newRef();

function encode(drafts: readonly EventDraft[], firstSeq = 0): Uint8Array[] {
  return drafts.map((draft, i) => encodeEvent(asSeq(firstSeq + i), draft));
}

function logOf(deltas: number, ref: GenerationRef = REF): Uint8Array[] {
  return encode([requested(ref), started(), ...Array.from({ length: deltas }, (_, i) => delta(`${i} `))]);
}

/** A cache that has the first `known` events. Event n has the stream sequence 10 n + 1. */
function tailOf(log: readonly Uint8Array[], known: number): GenerationCache {
  return new GenerationCache(REF, plainFraming, {
    events: log.slice(0, known),
    streamSeq: asStreamSeq(streamSeqOf(known - 1)),
  });
}

function streamSeqOf(seq: number): StreamSeq {
  return asStreamSeq(seq * 10 + 1);
}

function storedAfter(log: readonly Uint8Array[], streamSeq: number) {
  return log
    .map((payload, seq) => ({ payload, streamSeq: streamSeqOf(seq), writer: "w" }))
    .filter((event) => event.streamSeq > streamSeq);
}

function framesOf(cache: GenerationCache): string {
  let text = "";
  for (let seq = cache.shown.frames.firstSeq; seq <= cache.lastSeq;) {
    const { bytes, next } = cache.shown.view(seq, 10_000)!;
    text += bytes.toString();
    seq = next;
  }
  return text;
}

describe("compareSeq", () => {
  test("takes the successor, ignores what is known, and sees a gap in everything else", () => {
    expect([
      compareSeq(asSeq(4), asSeq(5)),
      compareSeq(asSeq(4), asSeq(4)),
      compareSeq(asSeq(4), asSeq(0)),
      compareSeq(asSeq(4), asSeq(6)),
      compareSeq(asSeq(-1), asSeq(0)),
    ]).toEqual(["next", "known", "known", "gap", "next"]);
  });

  test("ignores what is not an event of ours", () => {
    expect(compareSeq(asSeq(4), asSeq(-1))).toBe("known");
  });
});

describe("a cache", () => {
  test("has the log without holes after a read that follows a gap, when the live feed loses, repeats and reorders events", () => {
    const log = logOf(150);
    const whole = framesOf(tailOf(log, log.length));
    const anyFeed = fc.array(fc.nat(log.length - 1), { maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: log.length }), anyFeed, (known, feed) => {
        const cache = tailOf(log, known);
        for (const seq of feed) {
          const before = framesOf(cache);
          cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
          expect(framesOf(cache).startsWith(before)).toBe(true);
          expect(whole.startsWith(framesOf(cache))).toBe(true);
        }
        cache.events.acceptStored(storedAfter(log, cache.events.lastKnownStreamSeq));
        expect(framesOf(cache)).toBe(whole);
        expect(cache.events.hasGap).toBe(false);
      }),
      { numRuns: 40 },
    );
  });

  test("never reads on from a place before which it lacks something", () => {
    const log = logOf(300);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: log.length }),
        fc.array(fc.nat(log.length - 1), { maxLength: 600 }),
        (known, feed) => {
          const cache = tailOf(log, known);
          for (const seq of feed.toSorted((a, b) => a - b))
            cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
          expect(cache.events.lastKnownStreamSeq).toBeLessThanOrEqual(streamSeqOf(cache.lastSeq));
          expect(cache.events.lastKnownStreamSeq).toBeGreaterThan(streamSeqOf(cache.lastSeq - 65));
        },
      ),
    );
  });

  test("keeps live events that come early, and uses them as soon as the log has filled the gap", () => {
    const log = logOf(10);
    const cache = tailOf(log, 4);
    expect([
      cache.events.acceptLive(log[6]!, () => asStreamSeq(61)),
      cache.events.acceptLive(log[5]!, () => asStreamSeq(51)),
    ]).toEqual(["gap", "gap"]);
    expect(cache.events.hasGap).toBe(true);
    cache.events.acceptStored([{ payload: log[4]!, streamSeq: asStreamSeq(41), writer: "w" }]);
    expect([cache.lastSeq, cache.events.hasGap]).toEqual([6, false]);
  });

  test("refuses what it is given of a log that is no event, or not the next one, and takes nothing of it", () => {
    const log = logOf(10);
    const cache = tailOf(log, 4);
    const [next, second, third] = storedAfter(log, cache.events.lastKnownStreamSeq);
    const noEvent = { payload: new TextEncoder().encode("forged"), streamSeq: asStreamSeq(51), writer: "" };
    for (const events of [
      [next!, noEvent],
      [next!, third!],
      [second!, next!],
    ])
      expect(() => cache.events.acceptStored(events)).toThrow(
        expect.objectContaining({ code: "protocol_violation" }),
      );
    expect(cache.lastSeq).toBe(3);
    cache.events.acceptStored([next!, second!, third!]);
    expect(cache.lastSeq).toBe(6);
  });

  test("bounds the live events that it keeps, however far the feed is ahead", () => {
    const log = logOf(2_000);
    const cache = tailOf(log, 2);
    for (let seq = 3; seq < log.length; seq++)
      cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
    cache.events.acceptLive(log[2]!, () => asStreamSeq(streamSeqOf(2)));
    expect(cache.lastSeq).toBeLessThanOrEqual(2 + 128);
    cache.events.acceptStored(storedAfter(log, cache.events.lastKnownStreamSeq));
    expect(cache.lastSeq).toBe(log.length - 1);
  });

  test("bounds their bytes too: what is too large to be kept is read from the log", () => {
    const texts = ["a", "b", "x".repeat(200_000), "y".repeat(200_000), "c"];
    const log = encode([requested(REF), started(), ...texts.map(delta)]);
    const cache = tailOf(log, 2);
    for (const seq of [3, 4, 4, 5, 6])
      cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
    cache.events.acceptLive(log[2]!, () => asStreamSeq(streamSeqOf(2)));
    expect([cache.lastSeq, cache.events.hasGap]).toEqual([4, true]);
    cache.events.acceptLive(log[5]!, () => asStreamSeq(streamSeqOf(5)));
    expect([cache.lastSeq, cache.events.hasGap]).toEqual([6, false]);
  });

  test("has a gap for as long as it lacks what the live feed has shown, kept or not", () => {
    const log = encode([requested(REF), started(), delta("a"), delta("x".repeat(300_000))]);
    const cache = tailOf(log, 2);
    cache.events.acceptLive(log[3]!, () => asStreamSeq(streamSeqOf(3)));
    expect(cache.events.hasGap).toBe(true);
    cache.events.acceptLive(log[2]!, () => asStreamSeq(streamSeqOf(2)));
    expect([cache.lastSeq, cache.events.hasGap]).toEqual([2, true]);
    cache.events.acceptStored(storedAfter(log, streamSeqOf(2)));
    expect([cache.lastSeq, cache.events.hasGap]).toEqual([3, false]);
  });

  test("knows its last event's stream sequence once it was read from the log, when the live feed loses, repeats and reorders events", () => {
    const log = logOf(20);
    const cache = tailOf(log, 2);
    for (let seq = 2; seq < log.length; seq++)
      cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
    cache.events.acceptStored(storedAfter(log, cache.events.lastKnownStreamSeq));
    expect(cache.events.lastKnownStreamSeq).toBe(streamSeqOf(log.length - 1));
  });

  test("a place to read the log from lies before the event that is wanted, and not far before it", () => {
    const log = logOf(1_000);
    const cache = tailOf(log, 2);
    for (let seq = 2; seq < log.length; seq++)
      cache.events.acceptLive(log[seq]!, () => asStreamSeq(streamSeqOf(seq)));
    for (let seq = 200; seq < log.length; seq++) {
      expect(cache.events.streamSeqBefore(asSeq(seq))).toBeLessThan(streamSeqOf(seq));
      expect(cache.events.streamSeqBefore(asSeq(seq))).toBeGreaterThanOrEqual(streamSeqOf(seq - 128));
    }
    expect(cache.events.streamSeqBefore(asSeq(1))).toBeLessThan(streamSeqOf(1));
  });

  test("keeps the request to itself: frames begin with seq 1", () => {
    const cache = tailOf(logOf(2), 4);
    expect(cache.beginsWhole).toBe(true);
    expect(cache.shown.frames.firstSeq).toBe(1);
    expect(framesOf(cache)).not.toContain("generation.requested");
  });

  test("knows during which attempt an event was written", () => {
    const second = { ...started(2), nonce: "0a1b2c" } as EventDraft;
    const log = encode([requested(REF), started(1), delta("a"), second, delta("b"), completed()]);
    const cache = tailOf(log, log.length);
    expect([
      cache.events.cursorAt(asSeq(2)),
      cache.events.cursorAt(asSeq(3)),
      cache.events.cursorAt(asSeq(4)),
    ]).toEqual(["1-2", "2.0a1b2c-3", "2.0a1b2c-4"]);
    expect(framesOf(cache)).toContain("2.0a1b2c-4\n");
    expect(cache.ended).toBe(true);
  });

  test("has ended after any terminal event, and not before", () => {
    const log = encode([requested(REF), started(), cancelled()]);
    expect([tailOf(log, 2).ended, tailOf(log, 3).ended]).toEqual([false, true]);
  });

  test("a log whose head has expired begins with the oldest event that is kept", () => {
    const log = logOf(20);
    const cache = new GenerationCache(REF, plainFraming, {
      events: log.slice(7),
      streamSeq: asStreamSeq(streamSeqOf(21)),
    });
    expect([cache.shown.frames.firstSeq, cache.lastSeq, cache.beginsWhole]).toEqual([7, 21, false]);
    expect(cache.shown.payloadAt(asSeq(7))!.equals(log[7]!)).toBe(true);
  });

  test("an event that can't be decoded is refused and leaves the cache as it was", () => {
    const log = logOf(3);
    const cache = tailOf(log, 3);
    const damaged = Buffer.from('{"seq":3,"type":"generation.started",');
    expect(cache.events.acceptLive(damaged, () => asStreamSeq(31))).toBe("malformed");
    expect(cache.events.acceptLive(Buffer.from("no event at all"), () => asStreamSeq(31))).toBe("malformed");
    expect([cache.lastSeq, cache.shown.view(asSeq(3), 0)]).toEqual([2, undefined]);
    cache.events.acceptStored(storedAfter(log, cache.events.lastKnownStreamSeq));
    expect(framesOf(cache)).toBe(framesOf(tailOf(log, log.length)));
  });

  test("counts its readers, and forgets one that stops listening", () => {
    const cache = tailOf(logOf(1), 3);
    const calls: string[] = [];
    const stop = cache.listen(() => calls.push("a"));
    cache.listen(() => calls.push("b"));
    cache.notify((error) => expect.unreachable(String(error)));
    stop();
    cache.notify((error) => expect.unreachable(String(error)));
    expect([calls, cache.readers]).toEqual([["a", "b", "b"], 1]);
  });
});

describe("the policy of a cache", () => {
  const policyOf = (events: readonly Uint8Array[]) =>
    new GenerationCache(REF, plainFraming, { events: [...events], streamSeq: asStreamSeq(1) }).policy;

  test("is what the generation was created with, and the defaults of what it leaves open", () => {
    const said = {
      ...requested(REF),
      policy: { on_disconnect: { cancel_after: 7 } },
    } as unknown as EventDraft;
    expect(policyOf(encode([said]))).toMatchObject({ on_disconnect: { cancel_after: 7 }, max_attempts: 3 });
  });

  test("is unknown when the log has lost its beginning", () => {
    expect(policyOf(encode([delta("a")], 5))).toBeUndefined();
  });
});

test.each(['{"seq":0,"type":"generation.requested"', '{"seq":0,"type":"generation.started"}'])(
  "a log that begins with %j has no cache: its policy is not known",
  (begin) => {
    const events = [Buffer.from(begin)];
    expect(() => new GenerationCache(REF, plainFraming, { events, streamSeq: asStreamSeq(1) })).toThrow(
      "no event",
    );
  },
);
