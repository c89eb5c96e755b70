import { encodeEvent, type EventDraft, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { delta, STARTED } from "../testing/log-of.ts";
import { isAnotherAttempt, lastStartedBy, startedBy } from "./attempts.ts";

const started = (seq: number, attempt: number, nonce?: string) =>
  encodeEvent(asSeq(seq), { ...STARTED, attempt, ...(nonce && { nonce }) } as EventDraft);

test("an event begins an attempt when it is a well-formed generation.started", () => {
  expect(startedBy(started(4, 2, "00000b"))).toEqual({ attempt: 2, nonce: "00000b", fromSeq: 4 });
  expect(startedBy(started(4, 2))).toEqual({ attempt: 2, nonce: undefined, fromSeq: 4 });
  expect(startedBy(encodeEvent(asSeq(4), delta("a")))).toBeUndefined();
  expect(startedBy(started(4, 0))).toBeUndefined();
});

test("the last attempt of a log is that of its last generation.started", () => {
  const events = [started(1, 1), started(3, 2), encodeEvent(asSeq(4), delta("a"))];
  expect(lastStartedBy(events)).toMatchObject({ attempt: 2, fromSeq: 3 });
  expect(lastStartedBy([encodeEvent(asSeq(4), delta("a"))])).toBeUndefined();
});

test.each([
  ["the known one", started(9, 2, "00000b"), false],
  ["one of its number with another nonce", started(9, 2, "00000c"), true],
  ["an earlier one", started(9, 1, "00000a"), true],
  ["a later one without a nonce", started(9, 3), true],
  ["one of its number without a nonce", started(9, 2), false],
  ["an event of another type", encodeEvent(asSeq(9), delta("a")), false],
])("whether an event begins another attempt than the known one: %s", (_, payload, expected) => {
  expect(isAnotherAttempt(payload, { attempt: 2, nonce: "00000b", fromSeq: asSeq(5) })).toBe(expected);
});
