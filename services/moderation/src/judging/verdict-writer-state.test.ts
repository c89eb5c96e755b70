import { asSeq, asStreamSeq } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import {
  initialState,
  next,
  phaseOf,
  type Transition,
  unstoredFrom,
  type VerdictUpdate,
  type WriterInput,
  type WriterState,
} from "./verdict-writer-state.ts";

const BY = { rule_set: "rules" };

const update = (judged: number, of: Partial<VerdictUpdate> = {}): WriterInput => ({
  type: "update",
  update: {
    judged: asSeq(judged),
    cleared: asSeq(judged),
    decided: asSeq(0),
    attempt: { attempt: 1, nonce: "00000a", fromSeq: asSeq(1) },
    findings: [],
    findingCount: 0,
    classified: asSeq(0),
    unjudged: [],
    isComplete: true,
    isUrgent: false,
    ...of,
  },
});

const after = (state: WriterState, ...inputs: WriterInput[]) =>
  inputs.reduce((from, input) => next(from, input).state, state);

const verdict = (judged: number) => ({
  judged: asSeq(judged),
  cleared: asSeq(judged),
  decided: asSeq(0),
  attempt: 1,
  nonce: "00000a",
});
const REFUSED: WriterInput = { type: "refused", present: undefined };

/** 10 is stored, at place 3 of VERDICTS; the events at the places 100, 200 and so on of the log are judged since, up to 20, 30 and so on. */
const stored = initialState(BY, { verdict: verdict(10), streamSeq: asStreamSeq(3) });
const updated = after(stored, { type: "folded", streamSeq: asStreamSeq(100) }, update(20));
const storing = after(updated, { type: "store" });
const overtaken = after(storing, { type: "folded", streamSeq: asStreamSeq(200) }, update(30));

const STATES = {
  stored,
  "stored, with an event folded": after(stored, { type: "folded", streamSeq: asStreamSeq(100) }),
  updated,
  storing,
  "storing for the third time": after(storing, REFUSED, REFUSED),
  overtaken,
  "overtaken, storing for the third time": after(overtaken, REFUSED, REFUSED),
};

const INPUTS = {
  folded: { type: "folded", streamSeq: asStreamSeq(300) },
  update: update(40),
  "update, urgent": update(40, { isUrgent: true }),
  "update, with more to follow": update(40, { isComplete: false }),
  store: { type: "store" },
  stored: { type: "stored", streamSeq: asStreamSeq(4) },
  refused: REFUSED,
  "refused for another verdict": {
    type: "refused",
    present: { verdict: verdict(15), streamSeq: asStreamSeq(9) },
  },
  failed: { type: "failed" },
  discard: { type: "discard", fromSeq: asSeq(6) },
} as const satisfies Record<string, WriterInput>;

const UNREACHABLE = "throws";

/** The state after an input: `from` has the first places that are on their way, updated, and folded. */
function tell(from: WriterState, input: WriterInput): string {
  let transition: Transition;
  try {
    transition = next(from, input);
  } catch {
    return UNREACHABLE;
  }
  const { state, effect } = transition;
  if (state === from && !effect) return "ignored";
  const { update: waits, onItsWay, updatedFrom, foldedFrom } = state;
  const places = [onItsWay?.from, updatedFrom, foldedFrom].map((place) => place ?? "-").join("/");
  return [
    phaseOf(state),
    `${state.stored?.judged} at ${state.streamSeq}`,
    `from ${places}`,
    ...(waits ? [`${waits.judged} waits`] : []),
    ...(effect ? [`publishes ${effect.verdict.judged} after ${effect.expectedLast}`] : []),
  ].join(", ");
}

const TABLE: Record<keyof typeof STATES, Record<keyof typeof INPUTS, string>> = {
  stored: {
    folded: "stored, 10 at 3, from -/-/300",
    update: "updated, 10 at 3, from -/-/-, 40 waits",
    "update, urgent": "storing, 10 at 3, from -/-/-, publishes 40 after 3",
    "update, with more to follow": "updated, 10 at 3, from -/-/-, 40 waits",
    store: "ignored",
    stored: UNREACHABLE,
    refused: UNREACHABLE,
    "refused for another verdict": UNREACHABLE,
    failed: UNREACHABLE,
    discard: "stored, 0 at 3, from -/-/-",
  },
  "stored, with an event folded": {
    folded: "stored, 10 at 3, from -/-/100",
    update: "updated, 10 at 3, from -/100/-, 40 waits",
    "update, urgent": "storing, 10 at 3, from 100/-/-, publishes 40 after 3",
    "update, with more to follow": "updated, 10 at 3, from -/-/100, 40 waits",
    store: "ignored",
    stored: UNREACHABLE,
    refused: UNREACHABLE,
    "refused for another verdict": UNREACHABLE,
    failed: UNREACHABLE,
    discard: "stored, 0 at 3, from -/-/100",
  },
  updated: {
    folded: "updated, 10 at 3, from -/100/300, 20 waits",
    update: "updated, 10 at 3, from -/100/-, 40 waits",
    "update, urgent": "storing, 10 at 3, from 100/-/-, publishes 40 after 3",
    "update, with more to follow": "updated, 10 at 3, from -/100/-, 40 waits",
    store: "storing, 10 at 3, from 100/-/-, publishes 20 after 3",
    stored: UNREACHABLE,
    refused: UNREACHABLE,
    "refused for another verdict": UNREACHABLE,
    failed: UNREACHABLE,
    discard: "updated, 0 at 3, from -/100/-, 20 waits",
  },
  storing: {
    folded: "storing, 10 at 3, from 100/-/300",
    update: "overtaken, 10 at 3, from 100/-/-, 40 waits",
    "update, urgent": "overtaken, 10 at 3, from 100/-/-, 40 waits",
    "update, with more to follow": "overtaken, 10 at 3, from 100/-/-, 40 waits",
    store: "ignored",
    stored: "stored, 20 at 4, from -/-/-",
    refused: "storing, 10 at 3, from 100/-/-, publishes 20 after 3",
    "refused for another verdict": "storing, 15 at 9, from 100/-/-, publishes 20 after 9",
    failed: "updated, 10 at 3, from -/100/-, 20 waits",
    discard: "storing, 0 at 3, from 100/-/-",
  },
  "storing for the third time": {
    folded: "storing, 10 at 3, from 100/-/300",
    update: "overtaken, 10 at 3, from 100/-/-, 40 waits",
    "update, urgent": "overtaken, 10 at 3, from 100/-/-, 40 waits",
    "update, with more to follow": "overtaken, 10 at 3, from 100/-/-, 40 waits",
    store: "ignored",
    stored: "stored, 20 at 4, from -/-/-",
    refused: "updated, 10 at 3, from -/100/-, 20 waits",
    "refused for another verdict": "updated, 15 at 9, from -/100/-, 20 waits",
    failed: "updated, 10 at 3, from -/100/-, 20 waits",
    discard: "storing, 0 at 3, from 100/-/-",
  },
  overtaken: {
    folded: "overtaken, 10 at 3, from 100/200/300, 30 waits",
    update: "overtaken, 10 at 3, from 100/200/-, 40 waits",
    "update, urgent": "overtaken, 10 at 3, from 100/200/-, 40 waits",
    "update, with more to follow": "overtaken, 10 at 3, from 100/200/-, 40 waits",
    store: "ignored",
    stored: "updated, 20 at 4, from -/200/-, 30 waits",
    refused: "overtaken, 10 at 3, from 100/200/-, 30 waits, publishes 20 after 3",
    "refused for another verdict": "overtaken, 15 at 9, from 100/200/-, 30 waits, publishes 20 after 9",
    failed: "updated, 10 at 3, from -/100/-, 30 waits",
    discard: "overtaken, 0 at 3, from 100/200/-, 30 waits",
  },
  "overtaken, storing for the third time": {
    folded: "overtaken, 10 at 3, from 100/200/300, 30 waits",
    update: "overtaken, 10 at 3, from 100/200/-, 40 waits",
    "update, urgent": "overtaken, 10 at 3, from 100/200/-, 40 waits",
    "update, with more to follow": "overtaken, 10 at 3, from 100/200/-, 40 waits",
    store: "ignored",
    stored: "updated, 20 at 4, from -/200/-, 30 waits",
    refused: "updated, 10 at 3, from -/100/-, 30 waits",
    "refused for another verdict": "updated, 15 at 9, from -/100/-, 30 waits",
    failed: "updated, 10 at 3, from -/100/-, 30 waits",
    discard: "overtaken, 0 at 3, from 100/200/-, 30 waits",
  },
};

const names = <T extends object>(table: T) => Object.keys(table) as (keyof T)[];

describe.each(names(STATES))("%s", (name) => {
  const rows = names(INPUTS).map((input) => [input, TABLE[name][input]] as const);
  test.each(rows)("%s: %s", (input, row) => expect(tell(STATES[name], INPUTS[input])).toBe(row));
});

test("an update is due once 64 events were folded since a verdict was published", () => {
  const fold = (state: WriterState, count: number) =>
    after(
      state,
      ...Array.from({ length: count }, (_, i): WriterInput => ({
        type: "folded",
        streamSeq: asStreamSeq(400 + i),
      })),
    );
  expect(next(fold(stored, 63), update(40)).effect).toBeUndefined();
  const published = next(fold(stored, 64), update(40));
  expect(published.effect).toMatchObject({ verdict: { judged: 40 }, expectedLast: 3 });
  const later = after(published.state, { type: "stored", streamSeq: asStreamSeq(4) });
  expect(next(fold(later, 63), update(50)).effect).toBeUndefined();
  expect(next(fold(later, 64), update(50)).effect).toMatchObject({
    verdict: { judged: 50 },
    expectedLast: 4,
  });
});

test("a generation without a stored verdict begins after place 0", () => {
  const none = after(
    initialState(BY, undefined),
    { type: "folded", streamSeq: asStreamSeq(100) },
    update(20),
  );
  expect(next(none, { type: "store" }).effect).toMatchObject({ verdict: { judged: 20 }, expectedLast: 0 });
});

test("a refused update is merged with what another replica has stored", () => {
  const present = { verdict: { ...verdict(25), decided: asSeq(7) }, streamSeq: asStreamSeq(9) };
  const { effect } = next(storing, { type: "refused", present });
  expect(effect?.verdict).toMatchObject({ judged: 25, decided: 7, attempt: 1 });
});

test("nothing is settled before the verdict that covers it is stored, whichever way it goes", () => {
  const first = (state: WriterState) => unstoredFrom(state);
  const folded = after(overtaken, { type: "folded", streamSeq: asStreamSeq(300) });
  expect(first(folded)).toBe(100);
  const once = after(folded, { type: "stored", streamSeq: asStreamSeq(4) });
  expect([first(once), first(after(folded, { type: "failed" }))]).toEqual([200, 100]);
  const twice = after(once, { type: "store" }, { type: "stored", streamSeq: asStreamSeq(5) });
  expect(first(twice)).toBe(300);
  expect(
    first(after(twice, update(50), { type: "store" }, { type: "stored", streamSeq: asStreamSeq(6) })),
  ).toBeUndefined();
});

test("an update that covers no new event gives back nothing of the events that a newer one covers", () => {
  const classified = after(
    stored,
    update(10),
    { type: "store" },
    { type: "folded", streamSeq: asStreamSeq(200) },
    update(20),
  );
  expect(unstoredFrom(after(classified, { type: "failed" }))).toBe(200);
});
