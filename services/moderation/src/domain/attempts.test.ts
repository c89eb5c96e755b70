import { encodeEvent, type EventDraft, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { delta, STARTED } from "../testing/log-of.ts";
import { lastStartedBy, startedBy } from "./attempts.ts";

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
