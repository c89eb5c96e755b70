import type { GenerationLog } from "@reprise/stream";
import type { Publish } from "@reprise/broker";
import { createGenerationId, encodeEvent, parseTenantId, asSeq, asStreamSeq } from "@reprise/protocol";
import { expect, test, vi } from "vitest";
import { STARTED } from "../testing/log-of.ts";
import { VerdictWriter } from "./verdict-writer.ts";
import type { VerdictUpdate } from "./verdict-writer-state.ts";

const REF = { tenant: parseTenantId("acme"), generation: createGenerationId(new Uint8Array(17), 1) };
const HALT: VerdictUpdate = {
  judged: asSeq(3),
  cleared: asSeq(2),
  decided: asSeq(3),
  attempt: { attempt: 1, nonce: "00000a", fromSeq: asSeq(1) },
  findings: [],
  findingCount: 0,
  classified: asSeq(0),
  unjudged: [],
  isComplete: true,
  isUrgent: true,
};

test("a verdict that the client does not send counts as not stored, is no end of the process, and is tried again", async () => {
  const tooLarge = new Error("larger than the broker takes now");
  const publish = vi.fn<Publish>().mockRejectedValueOnce(tooLarge).mockRejectedValueOnce(tooLarge);
  publish.mockResolvedValue({ kind: "stored", streamSeq: asStreamSeq(1), duplicate: false });
  const log = { publish, verdicts: { readVerdictFromLeader: async () => undefined } };
  const writer = await VerdictWriter.open(log as unknown as GenerationLog, REF, { rule_set: "rules" });
  writer.folded(asStreamSeq(7));
  writer.update(HALT);
  await expect(writer.store()).rejects.toBe(tooLarge);
  expect([writer.unstoredFrom, writer.stored]).toEqual([7, undefined]);
  await expect(writer.store()).rejects.toBe(tooLarge);
  await writer.store();
  expect([writer.unstoredFrom, writer.stored?.judged]).toEqual([undefined, 3]);
});

test("a verdict that is refused three times, while what is stored can't be read, is tried again by the next store", async () => {
  const publish = vi.fn<Publish>().mockResolvedValue({ kind: "conflict" });
  const readVerdictFromLeader = vi.fn().mockResolvedValueOnce(undefined).mockRejectedValue(new Error("away"));
  const log = { publish, verdicts: { readVerdictFromLeader } };
  const writer = await VerdictWriter.open(log as unknown as GenerationLog, REF, { rule_set: "rules" });
  writer.folded(asStreamSeq(7));
  writer.update(HALT);
  await writer.store();
  expect([publish.mock.calls.length, writer.unstoredFrom]).toEqual([3, 7]);
  publish.mockResolvedValue({ kind: "stored", streamSeq: asStreamSeq(1), duplicate: false });
  await writer.store();
  expect([publish.mock.calls.length, writer.unstoredFrom]).toEqual([4, undefined]);
});

test("what was stored of an attempt that the broker has lost does not count for the one that has got its number", async () => {
  const publish = vi
    .fn<Publish>()
    .mockResolvedValue({ kind: "stored", streamSeq: asStreamSeq(2), duplicate: false });
  const verdict = { judged: 90, cleared: 90, decided: 0, attempt: 1, nonce: "0000ff" };
  const log = { publish, verdicts: { readVerdictFromLeader: async () => ({ verdict, streamSeq: 1 }) } };
  const writer = await VerdictWriter.open(log as unknown as GenerationLog, REF, { rule_set: "rules" });
  writer.folded(asStreamSeq(7));
  writer.update(HALT);
  await writer.store();
  expect(writer.stored).toMatchObject({ judged: 3, cleared: 2, attempt: 1, nonce: "00000a" });
});

test("discards a stored verdict of an attempt that the leader does not have, and keeps which rules had judged what comes before", async () => {
  const spans = [{ from_seq: 1, to_seq: 90, rule_set: "rules" }];
  const verdict = { judged: 90, cleared: 90, decided: 0, attempt: 3, nonce: "00000c", spans };
  const log = { verdicts: { readVerdictFromLeader: async () => ({ verdict, streamSeq: 1 }) } };
  const writer = await VerdictWriter.open(log as unknown as GenerationLog, REF, { rule_set: "rules" });
  const events = [1, 2].map((attempt) => {
    const started = { ...STARTED, attempt, nonce: "00000a" };
    return encodeEvent(asSeq(10 * attempt), started);
  });
  expect([writer.isAheadOf(events), writer.discardLost(events)]).toEqual([true, false]);
  writer.discardLostOf(events);
  expect(writer.stored).toEqual({
    judged: 0,
    cleared: 0,
    decided: 0,
    spans: [{ from_seq: 1, to_seq: 19, rule_set: "rules" }],
  });
});

test.each([
  ["the one it names", "00000a", 1, 1, false],
  ["one of its number, as it names no nonce", undefined, 1, 1, false],
  ["one after what it has judged", "00000a", 91, 2, false],
  ["another one of its number", "0000ff", 1, 1, true],
  ["a later one in the place of what it has judged", "00000a", 90, 2, true],
] as const)(
  "what is stored of an attempt counts unless the log has another one in its place: %s",
  async (_, nonce, seq, attempt, isLost) => {
    const verdict = { judged: 90, cleared: 90, decided: 0, attempt: 1, ...(nonce && { nonce }) };
    const log = { verdicts: { readVerdictFromLeader: async () => ({ verdict, streamSeq: 1 }) } };
    const writer = await VerdictWriter.open(log as unknown as GenerationLog, REF, { rule_set: "rules" });
    const started = { ...STARTED, attempt, nonce: "00000a" };
    expect(writer.discardLost([encodeEvent(asSeq(seq), started)])).toBe(isLost);
    expect(writer.stored?.judged).toBe(isLost ? 0 : 90);
  },
);
