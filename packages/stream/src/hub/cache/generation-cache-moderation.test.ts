import {
  decodeEvent,
  encodeEvent,
  type EventDraft,
  type KnownEvent,
  textOf,
  Transcript,
  type Verdict,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GenerationCache } from "./generation-cache.ts";
import { halted, moderatedRequest, redacted, unavailable, verdict } from "@reprise/moderation/testing";
import { plainFraming, shownEvents, shownText } from "../../testing/plain-framing.ts";
import { completed, delta, newRef, requested, started } from "../../testing/world.ts";

const REF = newRef();
const SECRET = "SECRET";
/** Some five events of text. */
const LEAD = 15;

const encode = (drafts: readonly EventDraft[]) => drafts.map((draft, seq) => encodeEvent(asSeq(seq), draft));

function tailOf(log: readonly Uint8Array[], known = log.length): GenerationCache {
  return new GenerationCache(REF, plainFraming, {
    events: log.slice(0, known),
    streamSeq: asStreamSeq(known),
  });
}

const stored = (log: readonly Uint8Array[]) =>
  log.map((payload, i) => ({ payload, streamSeq: asStreamSeq(i + 1), writer: "w" }));

/** A log in which each secret is redacted some time later, and the verdicts while it grows. */
function moderated(mode: "gate" | "retract", steps: readonly ("clean" | "secret" | "judge")[]) {
  const drafts: EventDraft[] = [moderatedRequest(REF, { mode, max_lead_characters: LEAD }), started()];
  const verdicts: Verdict[] = [];
  let [judged, decided] = [0, 0];
  const judge = () => {
    if (judged === drafts.length - 1) return;
    const draft = drafts[++judged]!;
    if (draft.type === "output.delta" && draft.text === SECRET) decided = drafts.push(redacted(judged)) - 1;
    verdicts.push(verdict(judged, { decided }));
  };
  for (const step of steps) {
    if (step === "judge") judge();
    else drafts.push(delta(step === "secret" ? SECRET : `${drafts.length} `));
  }
  const endSeq = drafts.push(completed()) - 1;
  while (judged < drafts.length - 1) judge();
  return { log: encode(drafts), verdicts, endSeq };
}

const anySteps = fc.array(fc.constantFrom("clean", "clean", "secret", "judge", "judge", "judge"), {
  minLength: 5,
  maxLength: 60,
});
/** Which live event or verdict comes next, any number of times or never, or the log as far as it is. */
const anyFeed = fc.array(
  fc.record({ kind: fc.constantFrom("event", "event", "verdict", "read"), at: fc.nat(200) }),
  { maxLength: 200 },
);

/** Gives the cache one step of a feed. Returns the verdict, if it is one. */
function feedTo(
  cache: GenerationCache,
  { log, verdicts }: ReturnType<typeof moderated>,
  { kind, at }: { readonly kind: "event" | "verdict" | "read"; readonly at: number },
): Verdict | undefined {
  if (kind === "event") cache.events.acceptLive(log[at % log.length]!, () => asStreamSeq(0));
  else if (kind === "read") cache.events.acceptStored(stored(log).slice(0, (at % log.length) + 1));
  else {
    const said = verdicts[at % verdicts.length]!;
    cache.shown.acceptVerdict(said);
    return said;
  }
  return undefined;
}

describe("of a moderated cache, with events and verdicts lost, repeated and reordered,", () => {
  test("a gate never shows an event that is not cleared, nor text that was withdrawn, and in the end all the rest", () => {
    fc.assert(
      fc.property(anySteps, anyFeed, (steps, feed) => {
        const history = moderated("gate", steps);
        const { log, verdicts } = history;
        const cache = tailOf(log, 1);
        let cleared = 0;
        for (const step of feed) {
          cleared = Math.max(cleared, feedTo(cache, history, step)?.cleared ?? 0);
          expect(shownEvents(cache).at(-1)?.seq ?? 0).toBeLessThanOrEqual(cleared);
          expect(shownText(cache)).not.toContain(SECRET);
        }
        cache.shown.acceptVerdict(verdicts.at(-1)!);
        cache.events.acceptStored(stored(log));
        expect([shownEvents(cache).length, cache.isOver]).toEqual([log.length - 1, true]);
        expect(shownText(cache)).not.toContain(SECRET);
      }),
      { numRuns: 200 },
    );
  });

  test("retract never shows an end that is not judged, more text than it may, nor text whose withdrawal is known", () => {
    fc.assert(
      fc.property(anySteps, anyFeed, (steps, feed) => {
        const history = moderated("retract", steps);
        const { log, verdicts, endSeq } = history;
        const cache = tailOf(log, 1);
        let judged = 0;
        for (const step of feed) {
          judged = Math.max(judged, feedTo(cache, history, step)?.judged ?? 0);
          const shown = shownEvents(cache);
          expect(shown.some(({ seq }) => seq === endSeq) && judged < endSeq).toBe(false);
          const lead = log
            .slice(judged + 1, cache.shownSeq + 1)
            .map((payload) => textOf(decodeEvent(payload)));
          expect(lead.join("").length).toBeLessThanOrEqual(LEAD);
          const withdrawn = shown.flatMap((event) =>
            event.type === "moderation.redacted" ? [event.from_seq] : [],
          );
          const texts = withdrawn.map((seq) => (shown[seq - 1] as { text?: string }).text);
          expect(texts).toEqual(withdrawn.map(() => "[redacted]"));
        }
        cache.events.acceptStored(stored(log));
        cache.shown.acceptVerdict(verdicts.at(-1)!);
        expect(cache.isOver).toBe(true);
        expect(shownText(cache)).not.toContain(SECRET);
      }),
      { numRuns: 200 },
    );
  });
});

test.each(["gate", "retract"] as const)(
  "what is settled of a %s is cleared, never less than before, never withdrawn later, and in the end everything",
  (mode) => {
    fc.assert(
      fc.property(anySteps, anyFeed, (steps, feed) => {
        const history = moderated(mode, steps);
        const { log, verdicts } = history;
        const cache = tailOf(log, 1);
        const settled: string[] = [];
        let cleared = 0;
        for (const step of feed) {
          cleared = Math.max(cleared, feedTo(cache, history, step)?.cleared ?? 0);
          expect(cache.settledSeq).toBeLessThanOrEqual(Math.min(cleared, cache.shownSeq));
          expect(cache.settledSeq).toBeGreaterThanOrEqual(settled.length);
          while (settled.length < cache.settledSeq)
            settled.push(String(cache.shown.payloadAt(asSeq(settled.length + 1))));
        }
        cache.events.acceptStored(stored(log));
        cache.shown.acceptVerdict(verdicts.at(-1)!);
        expect([cache.settledSeq, cache.isSettled]).toEqual([log.length - 1, true]);
        const inTheEnd = settled.map((_, i) => String(cache.shown.payloadAt(asSeq(i + 1))));
        expect(settled).toEqual(inTheEnd);
        expect(inTheEnd.join("")).not.toContain(SECRET);
      }),
      { numRuns: 200 },
    );
  },
);

describe("a cache", () => {
  const base = [
    moderatedRequest(REF, { mode: "retract" }),
    started(),
    delta("a "),
    delta(SECRET),
    delta(" b"),
  ];

  test("never sends withdrawn text to later readers, from memory or from the log, and keeps its cursors valid", () => {
    const log = encode([...base, redacted(3)]);
    const cache = tailOf(log);
    expect(shownText(cache)).toBe("a [redacted] b");
    expect(Buffer.concat(cache.shown.show(log)).toString()).not.toContain(SECRET);
    expect(cache.shown.view(asSeq(3), 0)!.bytes.toString()).toMatch(/^1-3\n/);
    expect(cache.shown.payloadAt(asSeq(3))!.toString()).toContain('"redacted":true');
  });

  test("sends no later reader what was sealed of reasoning, wherever it is, once any of the reasoning is withdrawn", () => {
    const sealed: EventDraft = { type: "reasoning.sealed", encrypted: "c2VhbGVk" };
    const thought: EventDraft = { type: "reasoning.delta", text: SECRET };
    const taken = { ...redacted(3), channel: "reasoning" };
    const log = encode([requested(REF), sealed, started(), thought, taken, sealed]);
    const cache = tailOf(log, 4);
    const framesFrom = (seq: number) => cache.shown.view(asSeq(seq), 10_000)!.bytes.toString();
    expect(framesFrom(1)).toContain("c2VhbGVk");
    for (const payload of log.slice(4)) cache.events.acceptLive(payload, () => asStreamSeq(0));
    expect(framesFrom(1)).not.toMatch(/c2VhbGVk|SECRET/);
    expect(Buffer.concat(cache.shown.show(log)).toString()).not.toMatch(/c2VhbGVk|SECRET/);
  });

  test("leaves what a socket holds as it was", () => {
    const log = encode([...base, redacted(3)]);
    const cache = tailOf(log, 5);
    const held = cache.shown.view(asSeq(1), 10_000)!.bytes;
    const before = held.toString();
    cache.events.acceptLive(log[5]!, () => asStreamSeq(0));
    expect([held.toString(), shownText(cache)]).toEqual([before, "a [redacted] b"]);
  });

  test("withdraws what comes after a halt as it comes, and reads as the transcript of the log does", () => {
    const log = encode([...base, halted(3), delta("more"), completed()]);
    const cache = tailOf(log, 6);
    for (const payload of log.slice(6)) cache.events.acceptLive(payload, () => asStreamSeq(0));
    cache.shown.acceptVerdict(verdict(7));
    const transcript = new Transcript();
    for (const payload of log) transcript.apply(JSON.parse(Buffer.from(payload).toString()) as KnownEvent);
    expect(shownText(cache)).toBe("a [halted]");
    expect(transcript.text).toBe("a [halted]");
  });

  test("knows its own events again though they read differently, and no others", () => {
    const log = encode([...base, redacted(3)]);
    const cache = tailOf(log);
    expect(log.map((payload) => cache.events.isKnown(payload))).toEqual(log.map(() => true));
    cache.events.acceptStored(stored(log));
    expect(cache.events.isDoubted).toBe(false);
    expect(cache.events.isKnown(encodeEvent(asSeq(4), delta("another")))).toBe(false);
    expect(cache.events.isKnown(encodeEvent(asSeq(3), completed()))).toBe(false);
  });

  test("withdraws text of a generation that was not moderated, too", () => {
    expect(shownText(tailOf(encode([requested(REF), ...base.slice(1), redacted(2, 3)])))).toBe(
      "[redacted] b",
    );
  });

  test("that has let go of what is withdrawn does not bring it back", () => {
    const big = Array.from({ length: 50 }, () => delta("x".repeat(4_000)));
    const log = encode([...base, ...big, redacted(3)]);
    const cache = tailOf(log, log.length - 1);
    cache.trim(0);
    const { firstSeq } = cache.shown.frames;
    cache.events.acceptLive(log.at(-1)!, () => asStreamSeq(0));
    expect([cache.shown.frames.firstSeq, cache.shown.view(asSeq(3), 0)]).toEqual([firstSeq, undefined]);
  });

  test("is opened for readers by fail_open, as far as it is, when it has come to know of it", () => {
    const log = encode([
      moderatedRequest(REF),
      started(),
      delta("a"),
      unavailable("fail_open", 0),
      delta("b"),
    ]);
    const cache = tailOf(log, 3);
    expect(shownText(cache)).toBe("");
    for (const payload of log.slice(3)) cache.events.acceptLive(payload, () => asStreamSeq(0));
    expect(shownText(cache)).toBe("ab");
  });
});
