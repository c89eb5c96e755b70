import { encodeEvent, type EventDraft, type GenerationRef } from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plainFraming } from "./testing/plain-framing.ts";
import { cancelled, completed, delta, newRef, requested, started } from "./testing/world.ts";
import { judgePlace } from "./judge-place.ts";
import { Tail } from "./tail.ts";

const REF = newRef();

function encode(drafts: readonly EventDraft[], firstSeq = 0): Uint8Array[] {
  return drafts.map((draft, i) => encodeEvent(firstSeq + i, draft));
}

function logOf(deltas: number, ref: GenerationRef = REF): Uint8Array[] {
  return encode([requested(ref), started(), ...Array.from({ length: deltas }, (_, i) => delta(`${i} `))]);
}

/** A tail that has the first `known` events. Event n has the stream sequence 10 n + 1. */
function tailOf(log: readonly Uint8Array[], known: number): Tail {
  return new Tail(REF, plainFraming, { events: log.slice(0, known), streamSeq: streamSeqOf(known - 1) });
}

function streamSeqOf(seq: number): number {
  return seq * 10 + 1;
}

function storedAfter(log: readonly Uint8Array[], streamSeq: number) {
  return log
    .map((payload, seq) => ({ payload, streamSeq: streamSeqOf(seq), writer: "w" }))
    .filter((event) => event.streamSeq > streamSeq);
}

function framesOf(tail: Tail): string {
  let text = "";
  for (let seq = tail.frames.firstSeq; seq <= tail.lastSeq;) {
    const { bytes, next } = tail.view(seq, 10_000)!;
    text += bytes.toString();
    seq = next;
  }
  return text;
}

describe("judgePlace", () => {
  test("takes the successor, ignores what is known, and sees a gap in everything else", () => {
    expect([
      judgePlace(4, 5),
      judgePlace(4, 4),
      judgePlace(4, 0),
      judgePlace(4, 6),
      judgePlace(-1, 0),
    ]).toEqual(["next", "known", "known", "gap", "next"]);
  });

  test("ignores what is not an event of ours", () => {
    expect(judgePlace(4, -1)).toBe("known");
  });
});

describe("a tail", () => {
  test("whatever the live feed loses, repeats and reorders, it has the log without holes once it is read after a gap", () => {
    const log = logOf(150);
    const whole = framesOf(tailOf(log, log.length));
    const anyFeed = fc.array(fc.nat(log.length - 1), { maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: log.length }), anyFeed, (known, feed) => {
        const tail = tailOf(log, known);
        for (const seq of feed) {
          const before = framesOf(tail);
          tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
          expect(framesOf(tail).startsWith(before)).toBe(true);
          expect(whole.startsWith(framesOf(tail))).toBe(true);
        }
        tail.acceptStored(storedAfter(log, tail.lastKnownStreamSeq));
        expect(framesOf(tail)).toBe(whole);
        expect(tail.hasGap).toBe(false);
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
          const tail = tailOf(log, known);
          for (const seq of feed.toSorted((a, b) => a - b))
            tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
          expect(tail.lastKnownStreamSeq).toBeLessThanOrEqual(streamSeqOf(tail.lastSeq));
          expect(tail.lastKnownStreamSeq).toBeGreaterThan(streamSeqOf(tail.lastSeq - 65));
        },
      ),
    );
  });

  test("keeps live events that come early, and uses them as soon as the log has filled the gap", () => {
    const log = logOf(10);
    const tail = tailOf(log, 4);
    expect([tail.acceptLive(log[6]!, () => 61), tail.acceptLive(log[5]!, () => 51)]).toEqual(["gap", "gap"]);
    expect(tail.hasGap).toBe(true);
    tail.acceptStored([{ payload: log[4]!, streamSeq: 41, writer: "w" }]);
    expect([tail.lastSeq, tail.hasGap]).toEqual([6, false]);
  });

  test("bounds the live events that it keeps, however far the feed is ahead", () => {
    const log = logOf(2_000);
    const tail = tailOf(log, 2);
    for (let seq = 3; seq < log.length; seq++) tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
    tail.acceptLive(log[2]!, () => streamSeqOf(2));
    expect(tail.lastSeq).toBeLessThanOrEqual(2 + 128);
    tail.acceptStored(storedAfter(log, tail.lastKnownStreamSeq));
    expect(tail.lastSeq).toBe(log.length - 1);
  });

  test("bounds their bytes too: what is too large to be kept is read from the log", () => {
    const texts = ["a", "b", "x".repeat(200_000), "y".repeat(200_000), "c"];
    const log = encode([requested(REF), started(), ...texts.map(delta)]);
    const tail = tailOf(log, 2);
    for (const seq of [3, 4, 4, 5, 6]) tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
    tail.acceptLive(log[2]!, () => streamSeqOf(2));
    expect([tail.lastSeq, tail.hasGap]).toEqual([4, true]);
    tail.acceptLive(log[5]!, () => streamSeqOf(5));
    expect([tail.lastSeq, tail.hasGap]).toEqual([6, false]);
  });

  test("has a gap for as long as it lacks what the live feed has shown, kept or not", () => {
    const log = encode([requested(REF), started(), delta("a"), delta("x".repeat(300_000))]);
    const tail = tailOf(log, 2);
    tail.acceptLive(log[3]!, () => streamSeqOf(3));
    expect(tail.hasGap).toBe(true);
    tail.acceptLive(log[2]!, () => streamSeqOf(2));
    expect([tail.lastSeq, tail.hasGap]).toEqual([2, true]);
    tail.acceptStored(storedAfter(log, streamSeqOf(2)));
    expect([tail.lastSeq, tail.hasGap]).toEqual([3, false]);
  });

  test("knows where in the log its last event lies once the log has shown it, whatever the live feed did", () => {
    const log = logOf(20);
    const tail = tailOf(log, 2);
    for (let seq = 2; seq < log.length; seq++) tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
    tail.acceptStored(storedAfter(log, tail.lastKnownStreamSeq));
    expect(tail.lastKnownStreamSeq).toBe(streamSeqOf(log.length - 1));
  });

  test("a place to read the log from lies before the event that is wanted, and not far before it", () => {
    const log = logOf(1_000);
    const tail = tailOf(log, 2);
    for (let seq = 2; seq < log.length; seq++) tail.acceptLive(log[seq]!, () => streamSeqOf(seq));
    for (let seq = 200; seq < log.length; seq++) {
      expect(tail.streamSeqBefore(seq)).toBeLessThan(streamSeqOf(seq));
      expect(tail.streamSeqBefore(seq)).toBeGreaterThanOrEqual(streamSeqOf(seq - 128));
    }
    expect(tail.streamSeqBefore(1)).toBeLessThan(streamSeqOf(1));
  });

  test("keeps the request to itself: frames begin with seq 1", () => {
    const tail = tailOf(logOf(2), 4);
    expect(tail.beginsWhole).toBe(true);
    expect(tail.frames.firstSeq).toBe(1);
    expect(framesOf(tail)).not.toContain("generation.requested");
  });

  test("knows during which attempt an event was written", () => {
    const second = { ...started(2), nonce: "0a1b2c" } as EventDraft;
    const log = encode([requested(REF), started(1), delta("a"), second, delta("b"), completed()]);
    const tail = tailOf(log, log.length);
    expect([tail.cursorAt(2), tail.cursorAt(3), tail.cursorAt(4)]).toEqual([
      "1-2",
      "2.0a1b2c-3",
      "2.0a1b2c-4",
    ]);
    expect(framesOf(tail)).toContain("2.0a1b2c-4\n");
    expect(tail.ended).toBe(true);
  });

  test("has ended after any terminal event, and not before", () => {
    const log = encode([requested(REF), started(), cancelled()]);
    expect([tailOf(log, 2).ended, tailOf(log, 3).ended]).toEqual([false, true]);
  });

  test("a log whose head has expired begins with the oldest event that is kept", () => {
    const log = logOf(20);
    const tail = new Tail(REF, plainFraming, { events: log.slice(7), streamSeq: streamSeqOf(21) });
    expect([tail.frames.firstSeq, tail.lastSeq, tail.beginsWhole]).toEqual([7, 21, false]);
    expect(tail.payloadAt(7)!.equals(log[7]!)).toBe(true);
  });

  test("an event that can't be decoded is refused and leaves the tail as it was", () => {
    const log = logOf(3);
    const tail = tailOf(log, 3);
    const damaged = Buffer.from('{"seq":3,"type":"generation.started",');
    expect(tail.acceptLive(damaged, () => 31)).toBe("malformed");
    expect([tail.lastSeq, tail.view(3, 0)]).toEqual([2, undefined]);
    tail.acceptStored(storedAfter(log, tail.lastKnownStreamSeq));
    expect(framesOf(tail)).toBe(framesOf(tailOf(log, log.length)));
  });

  test("counts its readers, and forgets one that stops listening", () => {
    const tail = tailOf(logOf(1), 3);
    const calls: string[] = [];
    const stop = tail.listen(() => calls.push("a"));
    tail.listen(() => calls.push("b"));
    tail.notify((error) => expect.unreachable(String(error)));
    stop();
    tail.notify((error) => expect.unreachable(String(error)));
    expect([calls, tail.readers]).toEqual([["a", "b", "b"], 1]);
  });
});

describe("the policy of a tail", () => {
  const policyOf = (events: readonly Uint8Array[]) =>
    new Tail(REF, plainFraming, { events: [...events], streamSeq: 1 }).policy;

  test("is what the generation was created with, and the defaults of what it leaves open", () => {
    const said = {
      ...requested(REF),
      policy: { on_disconnect: { cancel_after: 7 } },
    } as unknown as EventDraft;
    expect(policyOf(encode([said]))).toMatchObject({ on_disconnect: { cancel_after: 7 }, max_attempts: 3 });
  });

  test("is unknown when the log has lost its beginning, and when this version can't read it", () => {
    const strange = { ...requested(REF), policy: { on_disconnect: "dance" } } as unknown as EventDraft;
    expect([policyOf(encode([delta("a")], 5)), policyOf(encode([strange]))]).toEqual([undefined, undefined]);
  });
});

test.each(['{"seq":0,"type":"generation.requested"', '{"seq":0,"type":"generation.started"}'])(
  "a log that begins with %j has no tail: its policy is not known",
  (begin) => {
    const events = [Buffer.from(begin)];
    expect(() => new Tail(REF, plainFraming, { events, streamSeq: 1 })).toThrow("no event");
  },
);
