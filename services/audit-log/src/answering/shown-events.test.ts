import { type Framing, GenerationCache } from "@reprise/stream";
import {
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  type Verdict,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import {
  completed,
  createRef,
  delta,
  moderatedPolicy,
  redacted,
  requested,
  SAID_BESIDE,
  started,
} from "@reprise/testkit";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openFilledArchive } from "../testing/filled-archive.ts";
import { shownEvents } from "./shown-events.ts";

const NOW_US = 1_795_000_000_000_000;

/** The cursor, a blank, the payload, LF. */
const framing: Framing = {
  maxBytes: (payloadLength) => payloadLength + 21,
  write(target, at, cursor, payload) {
    const start = at + target.write(`${cursor} `, at, "latin1");
    target.set(payload, start);
    return start + payload.length + target.write("\n", start + payload.length);
  },
  payloadOf: (frame) => frame.subarray(frame.indexOf(" ") + 1, -1),
};

const BESIDE = Object.values(SAID_BESIDE);
const CHANNELS = ["0", ...Object.keys(SAID_BESIDE)];

interface Moderated {
  readonly ref: GenerationRef;
  readonly drafts: readonly EventDraft[];
  readonly verdict: Verdict | undefined;
}

/** The events that a node's cache shows to a reader that comes after the whole log is there. */
function shownByTail({ ref, drafts, verdict }: Moderated): string[] {
  const events = drafts.map((draft, seq) => encodeEvent(asSeq(seq), draft));
  const cache = new GenerationCache(ref, framing, { events, streamSeq: asStreamSeq(events.length) });
  if (verdict) cache.shown.acceptVerdict(verdict);
  const lines: string[] = [];
  for (
    let seq = 1, view = cache.shown.view(asSeq(seq), 1e6);
    view;
    view = cache.shown.view(asSeq(seq), 1e6)
  ) {
    lines.push(...view.bytes.toString().split("\n").slice(0, -1));
    seq = view.next;
  }
  return lines;
}

const anyModerated: fc.Arbitrary<Moderated> = fc
  .record({
    mode: fc.constantFrom("gate", "retract", "observe"),
    steps: fc.array(fc.tuple(fc.nat(11), fc.nat(), fc.nat()), { maxLength: 20 }),
    isEnded: fc.boolean(),
    lead: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
    judged: fc.option(fc.tuple(fc.nat(25), fc.nat(3), fc.nat(25)), { nil: undefined }),
  })
  .map(({ mode, steps, isEnded, lead, judged }) => {
    const ref = createRef();
    const drafts = [
      requested(ref, {}, moderatedPolicy({ mode, ...(lead !== undefined && { max_lead_characters: lead }) })),
      started(),
    ];
    for (const [kind, a, b] of steps) drafts.push(draftOf(kind, a, b, drafts.length));
    if (isEnded) drafts.push(completed());
    const verdict = judged && {
      judged: asSeq(judged[0] + judged[1]),
      cleared: asSeq(judged[0]),
      decided: asSeq(judged[2]),
    };
    return { ref, drafts, verdict };
  });

function draftOf(kind: number, a: number, b: number, seq: number): EventDraft {
  const [from, to] = [1 + (a % (seq - 1)), 1 + (b % (seq - 1))].toSorted((x, y) => x - y) as [number, number];
  if (kind === 0)
    return { ...redacted(from, to, `[${seq}]`), channel: CHANNELS[(a + b) % CHANNELS.length]! } as EventDraft;
  if (kind === 1) return started(seq);
  if (kind === 2 && a % 4 === 0)
    return {
      type: "moderation.unavailable",
      answer: b % 2 === 0 ? "fail_open" : "fail_closed",
      judged_seq: asSeq(from),
    };
  const beside = BESIDE[kind - 8];
  if (beside) return beside(`${seq} `);
  return kind === 3 ? { type: "reasoning.sealed", encrypted: `${seq}` } : delta(`${seq} `);
}

describe("an archived log", () => {
  it("is shown as a node would show it: the same events, bytes and cursors", async () => {
    const anyLogs = fc.array(anyModerated, { minLength: 30, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(anyLogs, async (logs) => {
        await using filled = await openFilledArchive();
        for (const { ref, drafts, verdict } of logs) {
          filled.log(ref, drafts, NOW_US);
          if (verdict) filled.verdict(ref, verdict);
        }
        await filled.commit();
        for (const log of logs) {
          const shown = await Array.fromAsync(shownEvents(filled.reader, log.ref, { original: false }));
          expect(shown.map(({ cursor, payload }) => `${cursor} ${Buffer.from(payload).toString()}`)).toEqual(
            shownByTail(log),
          );
        }
      }),
      { numRuns: 8 },
    );
  });

  it("is not shown by a guess where a later version wrote its policy, and is there as it was generated", async () => {
    await using filled = await openFilledArchive();
    const ref = createRef();
    const policy = moderatedPolicy({ mode: "quarantine" as "gate" });
    filled.log(ref, [requested(ref, {}, policy), started(), delta("SECRET")], NOW_US);
    await filled.commit();
    await expect(Array.fromAsync(shownEvents(filled.reader, ref, { original: false }))).rejects.toMatchObject(
      {
        code: "policy_unsupported",
      },
    );
    expect(await Array.fromAsync(shownEvents(filled.reader, ref, { original: true }))).toHaveLength(3);
  });

  it("is shown as it was generated, its request too, where that is asked for", async () => {
    await using filled = await openFilledArchive();
    const ref = createRef();
    const drafts = [requested(ref, {}, moderatedPolicy()), started(), delta("a"), redacted(2, 2)];
    filled.log(ref, drafts, NOW_US);
    await filled.commit();
    const shown = await Array.fromAsync(shownEvents(filled.reader, ref, { original: true }));
    expect(shown.map(({ payload }) => Buffer.from(payload))).toEqual(
      drafts.map((draft, seq) => Buffer.from(encodeEvent(asSeq(seq), draft))),
    );
    expect(shown.map(({ cursor }) => cursor)).toEqual(["0-0", "1-1", "1-2", "1-3"]);
  });
});
