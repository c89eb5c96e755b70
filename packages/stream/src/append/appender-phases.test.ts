import { expect, test } from "vitest";
import { type AppenderInput, type AppenderPhase, isRunning, next } from "./appender-phases.ts";

const INPUTS = [
  "work",
  "draft",
  "yield",
  "read",
  "hold",
  "nothing",
  "stored",
  "unheard",
  "conflict",
  "unacknowledged",
  "landed",
  "absent",
  "no_leader",
  "waited",
  "caught_up",
  "ended",
] as const satisfies AppenderInput[];

/** The phase after each input of `INPUTS`, in that order; "-" for a pair that is a defect. */
const EXPECTED: Record<AppenderPhase, string> = {
  idle: "ready - - - - - - - - - - - - - - -",
  ready: "ready publishing yielding catching_up holding idle - - - - - - - - - ended",
  holding: "holding - - - - - - - - - - - - ready - ended",
  yielding: "yielding - - - - - - - - - - - - publishing - ended",
  publishing: "publishing - - - - - ready backing_off conflicted unacknowledged - - - - - ended",
  conflicted: "conflicted - - - - - - - - - ready backing_off rereading - - ended",
  unacknowledged: "unacknowledged - - - - - - - - - ready backing_off backing_off - - ended",
  backing_off: "backing_off - - - - - - - - - - - - publishing - ended",
  rereading: "rereading - - - - - - - - - - - - conflicted - ended",
  catching_up: "catching_up - - - - - - - - - - - - - ready ended",
  ended: "ended - - - - - - - - - - - - - - -",
};

const phases = Object.keys(EXPECTED) as AppenderPhase[];
const rows = phases.flatMap((phase) => {
  const expected = EXPECTED[phase].split(" ");
  return INPUTS.map((input, at) => [phase, input, expected[at]] as const);
});

test("the table has a row for every phase and input", () => {
  expect(rows).toHaveLength(11 * 16);
  expect(rows.every(([, , after]) => after !== undefined)).toBe(true);
});

test.each(rows.filter(([, , after]) => after !== "-"))("%s, %s: %s", (phase, input, after) => {
  expect(next(phase, input)).toBe(after);
});

test.each(rows.filter(([, , after]) => after === "-"))("%s cannot have the input %s", (phase, input) => {
  expect(() => next(phase, input)).toThrow(`An appender that is ${phase} has no transition for ${input}.`);
});

test("an appender does something in every phase but idle and ended", () => {
  expect(phases.filter((phase) => !isRunning(phase))).toEqual(["idle", "ended"]);
});
