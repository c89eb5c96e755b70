import { encodeEvent, type EventDraft, type KnownEvent, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { ModerationLag } from "./moderation-lead.ts";
import { MODERATION, unavailable, verdict } from "../testing/moderated.ts";
import { completed, delta, started as startedDraft } from "@reprise/stream/testing";
import { holdingModeration, Visibility } from "./visibility.ts";

const gate = () => new Visibility({ ...MODERATION, mode: "gate" });
const retract = (most = 1_000) =>
  new Visibility({ ...MODERATION, mode: "retract", max_lead_characters: most });

function tell(visibility: Visibility, seq: number, draft: ReturnType<typeof unavailable>): void {
  visibility.took(asSeq(seq), draft.type, () => ({ ...draft, seq }) as KnownEvent);
}

function reach(visibility: Visibility, seq: number, draft = completed()): void {
  visibility.reached(asSeq(seq), draft.type, encodeEvent(asSeq(seq), draft));
}

function beginAttempt(visibility: Visibility, seq: number, attempt: number): void {
  const draft = { ...startedDraft(), attempt };
  visibility.took(asSeq(seq), draft.type, () => ({ ...draft, seq }) as KnownEvent);
  reach(visibility, seq, draft);
}

test("a gate shows what is cleared, and no more than there is", () => {
  const visibility = gate();
  expect(visibility.shownSeq(asSeq(9))).toBe(0);
  visibility.accept(verdict(7, { cleared: 5 }), asSeq(9));
  expect([visibility.shownSeq(asSeq(9)), visibility.shownSeq(asSeq(3))]).toEqual([5, 3]);
});

test("what a verdict clears is shown only once the decisions that go with it are there", () => {
  const visibility = gate();
  visibility.accept(verdict(4), asSeq(6));
  visibility.accept(verdict(6, { decided: 7 }), asSeq(6));
  expect([visibility.shownSeq(asSeq(6)), visibility.settled, visibility.judged]).toEqual([4, 4, 6]);
  reach(visibility, 6);
  expect(visibility.shownSeq(asSeq(6))).toBe(4);
  reach(visibility, 7);
  expect(visibility.shownSeq(asSeq(7))).toBe(6);
});

test("an older verdict that comes late takes nothing back", () => {
  const visibility = gate();
  visibility.accept(verdict(6), asSeq(9));
  visibility.accept(verdict(2), asSeq(9));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([6, 6]);
  visibility.accept(verdict(12, { decided: 11 }), asSeq(9));
  visibility.accept(verdict(10, { decided: 10 }), asSeq(9));
  reach(visibility, 10);
  expect(visibility.shownSeq(asSeq(10))).toBe(6);
  reach(visibility, 11);
  expect(visibility.shownSeq(asSeq(11))).toBe(11);
});

test("retract shows everything at once but the end and what follows it, each until it is judged", () => {
  const visibility = retract();
  expect(visibility.shownSeq(asSeq(9))).toBe(9);
  visibility.took(asSeq(10), "generation.completed", () => expect.fail("needs no decoding"));
  expect([visibility.shownSeq(asSeq(10)), visibility.shownSeq(asSeq(11))]).toEqual([9, 9]);
  visibility.accept(verdict(9), asSeq(11));
  expect(visibility.shownSeq(asSeq(11))).toBe(9);
  visibility.accept(verdict(10), asSeq(11));
  expect(visibility.shownSeq(asSeq(11))).toBe(10);
  visibility.accept(verdict(11), asSeq(12));
  expect([visibility.shownSeq(asSeq(11)), visibility.shownSeq(asSeq(12))]).toEqual([11, 11]);
});

test.each([
  ["gate", gate, 3],
  ["retract", retract, 4],
] as const)("fail_open shows everything of a %s until the event that says so is judged", (_, make, held) => {
  const visibility = make();
  visibility.accept(verdict(3), asSeq(5));
  visibility.took(asSeq(5), "generation.completed", () => expect.fail("needs no decoding"));
  expect(visibility.shownSeq(asSeq(5))).toBe(held);
  tell(visibility, 6, unavailable("fail_open", 3));
  expect([visibility.shownSeq(asSeq(6)), visibility.isUnavailable]).toEqual([6, false]);
  visibility.accept(verdict(4, { cleared: 3 }), asSeq(6));
  expect(visibility.shownSeq(asSeq(6))).toBe(6);
  visibility.accept(verdict(6), asSeq(6));
  expect([visibility.shownSeq(asSeq(6)), visibility.shownSeq(asSeq(9))]).toEqual([6, 6]);
});

test("fail_closed shows what is cleared, and reports moderation as unavailable until the next verdict", () => {
  const visibility = gate();
  visibility.accept(verdict(3), asSeq(5));
  tell(visibility, 6, unavailable("fail_closed", 3));
  expect([visibility.shownSeq(asSeq(6)), visibility.isUnavailable]).toEqual([3, true]);
  visibility.accept(verdict(4), asSeq(6));
  expect([visibility.shownSeq(asSeq(6)), visibility.isUnavailable]).toEqual([4, false]);
});

test.each([
  ["gate", gate],
  ["retract", retract],
] as const)(
  "unjudged events of a %s are known as such until readers are told that moderation is unavailable",
  (_, make) => {
    const visibility = make();
    expect([visibility.isUnjudged(asSeq(0)), visibility.isUnjudged(asSeq(1))]).toEqual([false, true]);
    visibility.accept(verdict(1, { cleared: 0 }), asSeq(1));
    expect([visibility.isUnjudged(asSeq(1)), visibility.isUnjudged(asSeq(2))]).toEqual([false, true]);
    tell(visibility, 2, unavailable("fail_closed", 1));
    expect(visibility.isUnjudged(asSeq(2))).toBe(false);
    tell(visibility, 3, unavailable("fail_open", 1));
    expect(visibility.isUnjudged(asSeq(3))).toBe(false);
  },
);

test("retract shows a limited amount of unjudged text, unless fail_open lifts the limit", () => {
  const visibility = retract(5);
  reach(visibility, 1);
  for (const [seq, text] of ["abc", "de", "f", ""].entries()) reach(visibility, seq + 2, delta(text));
  expect(visibility.shownSeq(asSeq(5))).toBe(3);
  visibility.accept(verdict(2), asSeq(5));
  expect(visibility.shownSeq(asSeq(5))).toBe(5);
  reach(visibility, 6, { type: "reasoning.delta", text: "ghi" });
  reach(visibility, 7, { type: "tool.call", call_id: "c", name: "n", arguments: "{}" });
  expect(visibility.shownSeq(asSeq(7))).toBe(5);
  tell(visibility, 8, unavailable("fail_open", 2));
  reach(visibility, 8, unavailable("fail_open", 2));
  expect(visibility.shownSeq(asSeq(8))).toBe(8);
});

test("the name of a called tool counts as text that retract may be ahead by", () => {
  const visibility = retract(5);
  reach(visibility, 1);
  reach(visibility, 2, { type: "tool.call", call_id: "c", name: "look_up", arguments: "" });
  expect(visibility.shownSeq(asSeq(2))).toBe(1);
});

test("a verdict on events that were lost lets retract show no more of a later attempt than the limit", () => {
  const visibility = retract(5);
  beginAttempt(visibility, 1, 1);
  reach(visibility, 2, delta("abcd"));
  visibility.accept({ ...verdict(9), attempt: 1 }, asSeq(2));
  beginAttempt(visibility, 3, 2);
  reach(visibility, 4, delta("abc"));
  reach(visibility, 5, delta("def"));
  expect(visibility.shownSeq(asSeq(5))).toBe(4);
});

test("retract that fail_closed has closed shows nothing that comes after that, until the next verdict", () => {
  const visibility = retract();
  for (const seq of [1, 2]) reach(visibility, seq, delta("a"));
  tell(visibility, 3, unavailable("fail_closed", 0));
  for (const seq of [3, 4]) reach(visibility, seq, delta("b"));
  expect([visibility.shownSeq(asSeq(4)), visibility.isUnavailable]).toEqual([3, true]);
  visibility.accept(verdict(1), asSeq(4));
  expect([visibility.shownSeq(asSeq(4)), visibility.isUnavailable]).toEqual([4, false]);
});

test("once fail_open has opened retract, the lag is what readers could see", () => {
  const visibility = retract(5);
  const lags: ModerationLag[] = [];
  visibility.onLag = (lag) => lags.push(lag);
  for (const seq of [1, 2]) reach(visibility, seq, delta("abcd"));
  tell(visibility, 3, unavailable("fail_open", 0));
  reach(visibility, 3, unavailable("fail_open", 0));
  visibility.accept(verdict(2), asSeq(3));
  expect(lags).toMatchObject([{ characters: 8 }]);
});

test("of retract that fail_closed has closed the lag is what readers had got until then", () => {
  const visibility = retract(50);
  const lags: ModerationLag[] = [];
  visibility.onLag = (lag) => lags.push(lag);
  reach(visibility, 1, delta("seen"));
  tell(visibility, 2, unavailable("fail_closed", 0));
  reach(visibility, 2, unavailable("fail_closed", 0));
  reach(visibility, 3, delta("never seen"));
  visibility.accept(verdict(3), asSeq(3));
  expect(lags).toMatchObject([{ characters: 4 }]);
});

test("a further attempt makes no lag of what was judged before it", () => {
  const visibility = retract();
  const lags: ModerationLag[] = [];
  visibility.onLag = (lag) => lags.push(lag);
  beginAttempt(visibility, 1, 1);
  reach(visibility, 2, delta("before"));
  visibility.accept({ ...verdict(2), attempt: 1 }, asSeq(2));
  beginAttempt(visibility, 3, 2);
  reach(visibility, 4, delta("a"));
  visibility.accept({ ...verdict(4), attempt: 2 }, asSeq(4));
  expect(lags).toMatchObject([{ characters: 6 }, { characters: 1 }]);
});

test("reports how far readers of retract were ahead, of the text that came since onLag was set", () => {
  const visibility = retract(5);
  reach(visibility, 1, delta("here before"));
  const lags: ModerationLag[] = [];
  visibility.onLag = (lag) => lags.push(lag);
  visibility.accept(verdict(1), asSeq(1));
  reach(visibility, 2, delta("abc"));
  reach(visibility, 3, delta("not shown"));
  visibility.accept(verdict(3), asSeq(3));
  visibility.accept(verdict(3), asSeq(3));
  expect(lags).toEqual([{ ms: expect.any(Number), characters: 3 }]);
  expect(lags[0]!.ms).toBeGreaterThanOrEqual(0);
});

test("readers wait for moderation neither without a policy nor in mode observe", () => {
  expect(holdingModeration(undefined)).toBeUndefined();
  expect(holdingModeration({ moderation: { ...MODERATION, mode: "observe" } } as never)).toBeUndefined();
});

test("a verdict does not count for a later attempt, which may have taken the place of lost events", () => {
  const started = (seq: number, attempt: number) => () =>
    ({ seq, type: "generation.started", attempt, worker: "w", model: "sim" }) as KnownEvent;
  const visibility = gate();
  visibility.accept({ ...verdict(9), attempt: 1 }, asSeq(9));
  visibility.took(asSeq(5), "generation.started", started(5, 2));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([4, 4]);
  visibility.accept({ ...verdict(6), attempt: 2 }, asSeq(9));
  visibility.accept({ ...verdict(9), attempt: 1 }, asSeq(9));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([6, 6]);

  const ahead = gate();
  ahead.accept({ ...verdict(9), attempt: 1 }, asSeq(4));
  ahead.accept({ ...verdict(6), attempt: 2 }, asSeq(4));
  ahead.took(asSeq(5), "generation.started", started(5, 2));
  expect(ahead.shownSeq(asSeq(9))).toBe(6);
});

test("a verdict of an attempt that the cache does not have waits for that, and clears nothing of any other", () => {
  const visibility = gate();
  const begin = (seq: number, attempt: number, nonce: string) => {
    const draft = { ...startedDraft(), attempt, nonce };
    visibility.took(asSeq(seq), draft.type, () => ({ ...draft, seq }) as KnownEvent);
    reach(visibility, seq, draft);
  };
  begin(1, 1, "00000a");
  visibility.accept({ ...verdict(9), attempt: 2, nonce: "00000b" }, asSeq(4));
  expect(visibility.shownSeq(asSeq(4))).toBe(0);
  begin(5, 2, "00000b");
  expect(visibility.shownSeq(asSeq(9))).toBe(9);
  // Two attempts are lost, and a second one starts over.
  const other = gate();
  const lost = { ...verdict(40), attempt: 3, nonce: "00000c" };
  for (const [seq, attempt] of [1, 2].entries()) {
    const draft = { ...startedDraft(), attempt, nonce: `00001${attempt}` };
    other.took(asSeq(10 * seq + 1), draft.type, () => ({ ...draft, seq: 10 * seq + 1 }) as KnownEvent);
    other.accept(lost, asSeq(10 * seq + 1));
  }
  expect([other.shownSeq(asSeq(30)), other.judged]).toEqual([0, 0]);
  other.accept({ ...verdict(33), attempt: 3, nonce: "00001d" }, asSeq(30));
  const third = { ...startedDraft(), attempt: 3, nonce: "00001d" };
  other.took(asSeq(31), third.type, () => ({ ...third, seq: 31 }) as KnownEvent);
  expect([other.shownSeq(asSeq(40)), other.judged]).toEqual([33, 33]);
  other.accept(lost, asSeq(40));
  expect([other.shownSeq(asSeq(40)), other.judged]).toEqual([33, 33]);
  other.accept({ ...verdict(35), attempt: 3, nonce: "00001d" }, asSeq(40));
  expect(other.shownSeq(asSeq(40))).toBe(35);
});

test("a verdict does not count for another attempt with the same number", () => {
  const started = {
    type: "generation.started",
    attempt: 2,
    nonce: "00000b",
    worker: "w",
    model: "sim",
  } as const;
  const ofLost = { ...verdict(9), attempt: 2, nonce: "00000a" };
  const visibility = gate();
  visibility.accept(ofLost, asSeq(4));
  visibility.took(asSeq(5), started.type, () => ({ ...started, seq: asSeq(5) }));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([0, 0]);
  visibility.accept(ofLost, asSeq(9));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([0, 0]);
  visibility.accept({ ...verdict(6), attempt: 2, nonce: "00000b" }, asSeq(9));
  expect([visibility.shownSeq(asSeq(9)), visibility.judged]).toEqual([6, 6]);
});

test("a verdict without a nonce speaks of the attempt of its number, whether that or the verdict is read first", () => {
  const started = {
    type: "generation.started",
    attempt: 1,
    nonce: "00000a",
    worker: "w",
    model: "sim",
  } as const;
  const [before, after] = [gate(), gate()];
  before.took(asSeq(1), started.type, () => ({ ...started, seq: asSeq(1) }));
  for (const visibility of [before, after]) visibility.accept({ ...verdict(6), attempt: 1 }, asSeq(9));
  after.took(asSeq(1), started.type, () => ({ ...started, seq: asSeq(1) }));
  expect([before.shownSeq(asSeq(9)), after.shownSeq(asSeq(9))]).toEqual([6, 6]);
});

test("once judging has gone on, a verdict of a new attempt whose decision is not there yet opens nothing again", () => {
  const visibility = gate();
  const began = (seq: number, attempt: number) =>
    visibility.took(
      asSeq(seq),
      "generation.started",
      () => ({ ...startedDraft(), attempt, seq }) as KnownEvent,
    );
  began(1, 1);
  tell(visibility, 5, unavailable("fail_open", 2));
  visibility.accept({ ...verdict(6), attempt: 1 }, asSeq(6));
  expect(visibility.shownSeq(asSeq(9))).toBe(6);
  began(8, 2);
  visibility.accept({ ...verdict(12, { decided: 11 }), attempt: 2 }, asSeq(9));
  expect(visibility.shownSeq(asSeq(9))).toBeLessThanOrEqual(6);
});

test("a verdict that has not seen an attempt clears nothing of it, though it is read later", () => {
  const visibility = gate();
  const started = { type: "generation.started", attempt: 2, worker: "w", model: "sim" } as const;
  visibility.took(asSeq(6), started.type, () => ({ ...started, seq: asSeq(6) }));
  visibility.accept({ ...verdict(9), attempt: 1 }, asSeq(9));
  expect(visibility.shownSeq(asSeq(9))).toBe(5);
});

test("an answer to moderation's absence that only a later version knows closes like fail_closed", () => {
  const visibility = retract();
  const later = { ...unavailable("fail_closed", 3), answer: "fail_slow" } as unknown as EventDraft;
  tell(visibility, 5, later);
  expect([visibility.isUnavailable, visibility.shownSeq(asSeq(9))]).toEqual([true, 5]);
});
