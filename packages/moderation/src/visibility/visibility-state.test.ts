import { asSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import {
  INITIAL,
  next,
  type Phase,
  phaseOf,
  type Standing,
  standingOf,
  type Transition,
  type VisibilityInput,
  type VisibilityState,
} from "./visibility-state.ts";

/** The cache of the tables below ends with this event. */
const LAST_SEQ = 24;

const started = (attempt: number, nonce: string, seq: number) =>
  ({ seq: asSeq(seq), type: "generation.started", attempt, nonce, worker: "w", model: "sim" }) as const;

const unavailable = (answer: string, seq: number, judged_seq: number) =>
  ({
    seq: asSeq(seq),
    type: "moderation.unavailable",
    answer: answer as "fail_open",
    judged_seq: asSeq(judged_seq),
  }) as const;

const said = (attempt: number, nonce: string | undefined, judged: number, decided: number) => {
  return {
    judged: asSeq(judged),
    cleared: asSeq(judged - 1),
    decided: asSeq(decided),
    attempt,
    nonce,
  };
};

const verdict = (...args: Parameters<typeof said>): VisibilityInput => {
  return { type: "verdict", verdict: said(...args), lastSeq: asSeq(LAST_SEQ) };
};

/** Three attempts, of which verdicts have seen two. */
const settled: VisibilityState = {
  ...INITIAL,
  judged: asSeq(15),
  settledJudged: asSeq(15),
  settledCleared: asSeq(14),
  attempt: 2,
  nonce: "b",
  started: [started(1, "a", 1), started(2, "b", 10), started(3, "c", 20)],
};
const waiting = {
  ...settled,
  judged: asSeq(17),
  waiting: { judged: asSeq(17), cleared: asSeq(16), decided: asSeq(25) },
};
const ahead = { ...settled, ahead: said(5, "e", 50, 0) };
const STATES = { settled, waiting, ahead, both: { ...waiting, ahead: ahead.ahead } };

const INPUTS = {
  "verdict: ahead": verdict(5, "e", 48, 30),
  "verdict: ahead, of another attempt": verdict(5, "f", 48, 30),
  "verdict: lost": verdict(3, "x", 19, 0),
  "verdict: outdated": verdict(1, "a", 9, 0),
  "verdict: current": verdict(2, "b", 18, 24),
  "verdict: current, names no nonce": verdict(2, undefined, 18, 0),
  "verdict: current, says less": verdict(2, "b", 11, 0),
  "verdict: current, its decision is missing": verdict(2, "b", 18, 26),
  "verdict: current, up to the next attempt": verdict(2, "b", 20, 0),
  "verdict: current, beyond the next attempt": verdict(2, "b", 30, 26),
  "verdict: newer": verdict(3, "c", 22, 0),
  "verdict: newer, says less": verdict(3, "c", 12, 0),
  "verdict: newer, its decision is missing": verdict(3, "c", 22, 26),
  "reached: before the decision": { type: "reached", lastSeq: asSeq(24) },
  "reached: the decision": { type: "reached", lastSeq: asSeq(25) },
  "started: before the one that is ahead": started(4, "d", 25),
  "started: the one that is ahead": started(5, "e", 25),
  "started: one with the number of the one that is ahead": started(5, "x", 25),
  "started: one that is seen": started(2, "b", 12),
  "started: one with the number of the last one seen": started(2, "x", 25),
  ended: { type: "ended", seq: asSeq(25) },
  unavailable: unavailable("fail_closed", 25, 17),
} as const satisfies Record<string, VisibilityInput>;

/** Describes the changes of a transition. `ignored`: none. */
function tell(from: VisibilityState, { state, effects }: Transition): string {
  if (state === from && effects.length === 0) return "ignored";
  const { judged, settledJudged, settledCleared, attempt, nonce, waiting: late, ahead: far } = state;
  return [
    `${judged} ${settledJudged}/${settledCleared} of ${attempt}${nonce}`,
    ...(late ? [`waiting ${late.judged}/${late.cleared} for ${late.decided}`] : []),
    ...(far ? [`ahead ${far.judged}/${far.cleared} for ${far.decided} of ${far.attempt}${far.nonce}`] : []),
    ...(state.started.length > from.started.length ? [`begun ${state.started.at(-1)?.attempt}`] : []),
    ...(state.endSeq === from.endSeq ? [] : [`end ${state.endSeq}`]),
    ...(state.unavailable === from.unavailable ? [] : [phaseOf(state)]),
    ...effects.map((effect) => (effect.type === "forget" ? `forget ${effect.toSeq}` : `lag ${effect.seq}`)),
  ].join(", ");
}

const TABLE: Record<keyof typeof STATES, Record<keyof typeof INPUTS, string>> = {
  settled: {
    "verdict: ahead": "15 15/14 of 2b, ahead 48/47 for 30 of 5e",
    "verdict: ahead, of another attempt": "15 15/14 of 2b, ahead 48/47 for 30 of 5f",
    "verdict: lost": "ignored",
    "verdict: outdated": "ignored",
    "verdict: current": "18 18/17 of 2b, lag 18",
    "verdict: current, names no nonce": "18 18/17 of 2undefined, lag 18",
    "verdict: current, says less": "15 15/14 of 2b, lag 11",
    "verdict: current, its decision is missing": "18 15/14 of 2b, waiting 18/17 for 26",
    "verdict: current, up to the next attempt": "19 19/19 of 2b, lag 19",
    "verdict: current, beyond the next attempt": "19 19/19 of 2b, lag 19",
    "verdict: newer": "22 22/21 of 3c, forget 0, lag 22",
    "verdict: newer, says less": "12 12/11 of 3c, forget 0, lag 12",
    "verdict: newer, its decision is missing": "22 0/0 of 3c, waiting 22/21 for 26, forget 0",
    "reached: before the decision": "ignored",
    "reached: the decision": "ignored",
    "started: before the one that is ahead": "15 15/14 of 2b, begun 4, forget 24",
    "started: the one that is ahead": "15 15/14 of 2b, begun 5, forget 24",
    "started: one with the number of the one that is ahead": "15 15/14 of 2b, begun 5, forget 24",
    "started: one that is seen": "15 15/14 of 2b, begun 2",
    "started: one with the number of the last one seen": "15 15/14 of 1b, begun 2, forget 24",
    ended: "15 15/14 of 2b, end 25",
    unavailable: "15 15/14 of 2b, closed",
  },
  waiting: {
    "verdict: ahead": "17 15/14 of 2b, waiting 17/16 for 25, ahead 48/47 for 30 of 5e",
    "verdict: ahead, of another attempt": "17 15/14 of 2b, waiting 17/16 for 25, ahead 48/47 for 30 of 5f",
    "verdict: lost": "ignored",
    "verdict: outdated": "ignored",
    "verdict: current": "18 18/17 of 2b, waiting 17/16 for 25, lag 18",
    "verdict: current, names no nonce": "18 18/17 of 2undefined, waiting 17/16 for 25, lag 18",
    "verdict: current, says less": "17 15/14 of 2b, waiting 17/16 for 25, lag 11",
    "verdict: current, its decision is missing": "18 15/14 of 2b, waiting 18/17 for 26",
    "verdict: current, up to the next attempt": "19 19/19 of 2b, waiting 17/16 for 25, lag 19",
    "verdict: current, beyond the next attempt": "19 19/19 of 2b, waiting 17/16 for 25, lag 19",
    "verdict: newer": "22 22/21 of 3c, forget 0, lag 22",
    "verdict: newer, says less": "12 12/11 of 3c, forget 0, lag 12",
    "verdict: newer, its decision is missing": "22 0/0 of 3c, waiting 22/21 for 26, forget 0",
    "reached: before the decision": "ignored",
    "reached: the decision": "17 17/16 of 2b, lag 17",
    "started: before the one that is ahead": "17 15/14 of 2b, begun 4, forget 24",
    "started: the one that is ahead": "17 15/14 of 2b, begun 5, forget 24",
    "started: one with the number of the one that is ahead": "17 15/14 of 2b, begun 5, forget 24",
    "started: one that is seen": "17 15/14 of 2b, waiting 17/16 for 25, begun 2",
    "started: one with the number of the last one seen": "17 15/14 of 1b, begun 2, forget 24",
    ended: "17 15/14 of 2b, waiting 17/16 for 25, end 25",
    unavailable: "17 15/14 of 2b, waiting 17/16 for 25, closed",
  },
  ahead: {
    "verdict: ahead": "15 15/14 of 2b, ahead 50/49 for 30 of 5e",
    "verdict: ahead, of another attempt": "15 15/14 of 2b, ahead 48/47 for 30 of 5f",
    "verdict: lost": "ignored",
    "verdict: outdated": "ignored",
    "verdict: current": "18 18/17 of 2b, ahead 50/49 for 0 of 5e, lag 18",
    "verdict: current, names no nonce": "18 18/17 of 2undefined, ahead 50/49 for 0 of 5e, lag 18",
    "verdict: current, says less": "15 15/14 of 2b, ahead 50/49 for 0 of 5e, lag 11",
    "verdict: current, its decision is missing":
      "18 15/14 of 2b, waiting 18/17 for 26, ahead 50/49 for 0 of 5e",
    "verdict: current, up to the next attempt": "19 19/19 of 2b, ahead 50/49 for 0 of 5e, lag 19",
    "verdict: current, beyond the next attempt": "19 19/19 of 2b, ahead 50/49 for 0 of 5e, lag 19",
    "verdict: newer": "22 22/21 of 3c, ahead 50/49 for 0 of 5e, forget 0, lag 22",
    "verdict: newer, says less": "12 12/11 of 3c, ahead 50/49 for 0 of 5e, forget 0, lag 12",
    "verdict: newer, its decision is missing":
      "22 0/0 of 3c, waiting 22/21 for 26, ahead 50/49 for 0 of 5e, forget 0",
    "reached: before the decision": "ignored",
    "reached: the decision": "ignored",
    "started: before the one that is ahead": "15 15/14 of 2b, ahead 50/49 for 0 of 5e, begun 4, forget 24",
    "started: the one that is ahead": "50 50/49 of 5e, begun 5, forget 24, forget 0, lag 50",
    "started: one with the number of the one that is ahead": "15 15/14 of 2b, begun 5, forget 24",
    "started: one that is seen": "15 15/14 of 2b, ahead 50/49 for 0 of 5e, begun 2",
    "started: one with the number of the last one seen":
      "15 15/14 of 1b, ahead 50/49 for 0 of 5e, begun 2, forget 24",
    ended: "15 15/14 of 2b, ahead 50/49 for 0 of 5e, end 25",
    unavailable: "15 15/14 of 2b, ahead 50/49 for 0 of 5e, closed",
  },
  both: {
    "verdict: ahead": "17 15/14 of 2b, waiting 17/16 for 25, ahead 50/49 for 30 of 5e",
    "verdict: ahead, of another attempt": "17 15/14 of 2b, waiting 17/16 for 25, ahead 48/47 for 30 of 5f",
    "verdict: lost": "ignored",
    "verdict: outdated": "ignored",
    "verdict: current": "18 18/17 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, lag 18",
    "verdict: current, names no nonce":
      "18 18/17 of 2undefined, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, lag 18",
    "verdict: current, says less": "17 15/14 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, lag 11",
    "verdict: current, its decision is missing":
      "18 15/14 of 2b, waiting 18/17 for 26, ahead 50/49 for 0 of 5e",
    "verdict: current, up to the next attempt":
      "19 19/19 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, lag 19",
    "verdict: current, beyond the next attempt":
      "19 19/19 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, lag 19",
    "verdict: newer": "22 22/21 of 3c, ahead 50/49 for 0 of 5e, forget 0, lag 22",
    "verdict: newer, says less": "12 12/11 of 3c, ahead 50/49 for 0 of 5e, forget 0, lag 12",
    "verdict: newer, its decision is missing":
      "22 0/0 of 3c, waiting 22/21 for 26, ahead 50/49 for 0 of 5e, forget 0",
    "reached: before the decision": "ignored",
    "reached: the decision": "17 17/16 of 2b, ahead 50/49 for 0 of 5e, lag 17",
    "started: before the one that is ahead": "17 15/14 of 2b, ahead 50/49 for 0 of 5e, begun 4, forget 24",
    "started: the one that is ahead": "50 50/49 of 5e, begun 5, forget 24, forget 0, lag 50",
    "started: one with the number of the one that is ahead": "17 15/14 of 2b, begun 5, forget 24",
    "started: one that is seen": "17 15/14 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, begun 2",
    "started: one with the number of the last one seen":
      "17 15/14 of 1b, ahead 50/49 for 0 of 5e, begun 2, forget 24",
    ended: "17 15/14 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, end 25",
    unavailable: "17 15/14 of 2b, waiting 17/16 for 25, ahead 50/49 for 0 of 5e, closed",
  },
};

const names = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];

describe.each(names(STATES))("verdicts, from %s", (name) => {
  test.each(names(INPUTS).map((input) => [input, TABLE[name][input]] as const))("%s: %s", (input, row) => {
    expect(tell(STATES[name], next(STATES[name], INPUTS[input]))).toBe(row);
  });
});

test.each<[Standing, number | undefined, string | undefined]>([
  ["ahead", 4, "d"],
  ["lost", 1, "x"],
  ["lost", 3, "x"],
  ["outdated", 1, "a"],
  ["outdated", 1, undefined],
  ["outdated", 0, undefined],
  ["current", 2, undefined],
  ["newer", 3, "c"],
  ["newer", undefined, undefined],
])("a verdict is %s when its attempt is %s, with nonce %s", (standing, attempt, nonce) => {
  const one = { ...said(0, "", 1, 0), attempt, nonce };
  expect(standingOf(settled, one)).toBe(standing);
});

/** The record of moderation's absence has seq 6, and says that events up to 3 were judged. */
const recorded = (answer: string, judged = 3): VisibilityState => {
  return {
    ...INITIAL,
    judged: asSeq(judged),
    settledJudged: asSeq(judged),
    unavailable: unavailable(answer, 6, 3),
  };
};
const PHASES: Record<Phase, VisibilityState> = {
  judging: INITIAL,
  open: recorded("fail_open"),
  closed: recorded("fail_closed"),
};
const judgedTo = (judged: number, decided = 0): VisibilityInput => {
  return {
    type: "verdict",
    verdict: { judged: asSeq(judged), cleared: asSeq(judged), decided: asSeq(decided) },
    lastSeq: asSeq(9),
  };
};
const PHASE_INPUTS = {
  "fail_open is recorded": unavailable("fail_open", 8, 3),
  "fail_open is recorded after what is settled": unavailable("fail_open", 0, 0),
  "fail_closed is recorded": unavailable("fail_closed", 8, 3),
  "an answer of a later version is recorded": unavailable("fail_slow", 8, 3),
  "no more is judged than the record says": judgedTo(3),
  "more is judged than the record says": judgedTo(4),
  "more is judged, and waits for its decision": judgedTo(8, 10),
  "the record is settled": judgedTo(6),
  "a verdict is ahead": { type: "verdict", verdict: said(1, "a", 50, 0), lastSeq: asSeq(9) },
  "an attempt begins": started(1, "a", 7),
  "the end is reached": { type: "ended", seq: asSeq(7) },
  "the cache continues": { type: "reached", lastSeq: asSeq(7) },
} as const satisfies Record<string, VisibilityInput>;

const PHASE_TABLE: Record<keyof typeof PHASE_INPUTS, Record<Phase, Phase>> = {
  "fail_open is recorded": { judging: "open", open: "open", closed: "open" },
  "fail_open is recorded after what is settled": { judging: "judging", open: "judging", closed: "judging" },
  "fail_closed is recorded": { judging: "closed", open: "closed", closed: "closed" },
  "an answer of a later version is recorded": { judging: "closed", open: "closed", closed: "closed" },
  "no more is judged than the record says": { judging: "judging", open: "open", closed: "closed" },
  "more is judged than the record says": { judging: "judging", open: "open", closed: "judging" },
  "more is judged, and waits for its decision": { judging: "judging", open: "open", closed: "judging" },
  "the record is settled": { judging: "judging", open: "judging", closed: "judging" },
  "a verdict is ahead": { judging: "judging", open: "open", closed: "closed" },
  "an attempt begins": { judging: "judging", open: "open", closed: "closed" },
  "the end is reached": { judging: "judging", open: "open", closed: "closed" },
  "the cache continues": { judging: "judging", open: "open", closed: "closed" },
};

describe.each(names(PHASE_TABLE))("when %s", (input) => {
  const rows = names(PHASES).map((phase) => [phase, PHASE_TABLE[input][phase]] as const);
  test.each(rows)("%s becomes %s", (phase, expected) => {
    expect(phaseOf(PHASES[phase])).toBe(phase);
    expect(phaseOf(next(PHASES[phase], PHASE_INPUTS[input]).state)).toBe(expected);
  });
});

test("the first end stays the end", () => {
  const ended = { ...settled, endSeq: asSeq(9) };
  expect(next(ended, INPUTS.ended).state.endSeq).toBe(9);
});

test("fail_open that was settled opens nothing when what was judged is forgotten", () => {
  const over = next(recorded("fail_open"), judgedTo(6)).state;
  const forgotten = next({ ...over, attempt: 0 }, judgedTo(2, 10)).state;
  expect([forgotten.settledJudged, phaseOf(forgotten)]).toEqual([0, "judging"]);
});

test("fail_closed closes again when what was judged after the record is forgotten", () => {
  const judged = next(recorded("fail_closed"), judgedTo(7)).state;
  const forgotten = next({ ...judged, attempt: 0 }, judgedTo(2)).state;
  expect([phaseOf(judged), phaseOf(forgotten)]).toEqual(["judging", "closed"]);
});
