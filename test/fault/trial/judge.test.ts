import { randomBytes } from "node:crypto";
import { createGenerationId, logSubject } from "@reprise/protocol";
import { beforeEach, describe, expect, test } from "vitest";
import { ReaderRecord } from "../readers/reader-record.ts";
import { createTenant } from "../world/tenant.ts";
import { judgeAcks, judgeLog } from "./judge-log.ts";
import { judgeReaders } from "./judge-readers.ts";
import type { TestedGeneration } from "./tested-generation.ts";

function testedGeneration(name: string): TestedGeneration {
  const tenant = createTenant(name);
  const generation = createGenerationId(randomBytes(17), 1);
  const request = { model: "sim", input: "Go on." };
  return {
    id: generation,
    ref: { tenant: tenant.id, generation },
    tenant,
    request,
    undisturbed: { tokens: ["a", "b"], finishReason: "stop" },
    wholeText: "ab",
    mayEnd: ["generation.completed"],
    mayFinish: undefined,
  };
}

const encode = (events: readonly object[]) => events.map((event, seq) => JSON.stringify({ seq, ...event }));
const usage = (output_tokens: number) => ({ input_tokens: 1, output_tokens });
const delta = (text: string) => ({ type: "output.delta", text });
const REQUESTED = { type: "generation.requested" };
const STARTED = { type: "generation.started", attempt: 1, worker: "w", model: "sim" };
const COMPLETED = { type: "generation.completed", finish_reason: "stop", usage: usage(2) };
const CUT_SHORT = { type: "generation.completed", finish_reason: "length", usage: usage(1) };
const FAILED = {
  type: "generation.failed",
  error: { code: "worker_lost", message: "", retryable: true },
  usage: usage(1),
};
const WHOLE = encode([REQUESTED, STARTED, delta("a"), delta("b"), COMPLETED]);

describe("the judge of a log", () => {
  const kindsOf = (payloads: readonly string[], generation = testedGeneration("acme")) =>
    judgeLog(generation, payloads).map(({ kind }) => kind);

  test("finds nothing wrong with an undisturbed run, nor with one that began again", () => {
    expect(kindsOf(WHOLE)).toEqual([]);
    const rewind = { type: "output.rewind", to_seq: 1, reason: "worker_lost" };
    const second = { ...STARTED, attempt: 2 };
    const again = [REQUESTED, STARTED, delta("a"), second, rewind, delta("a"), delta("b")];
    expect(kindsOf(encode([...again, { ...COMPLETED, usage: usage(3) }]))).toEqual([]);
  });

  test("permits a part of the text where the fault permits another end", () => {
    const payloads = encode([REQUESTED, STARTED, delta("a"), FAILED]);
    expect(kindsOf(payloads, { ...testedGeneration("acme"), mayEnd: ["generation.failed"] })).toEqual([]);
    expect(kindsOf(payloads)).toEqual(["ends"]);
  });

  test("permits a part of the text where the fault permits its finish reason, of as many tokens as are there", () => {
    const graceful = { ...testedGeneration("acme"), mayFinish: "timeout" } as const;
    const ended = { ...CUT_SHORT, finish_reason: "timeout" };
    expect(kindsOf(encode([REQUESTED, STARTED, delta("a"), ended]), graceful)).toEqual([]);
    const other = encode([REQUESTED, STARTED, { ...delta("a"), tokens: 2 }, { ...ended, usage: usage(2) }]);
    expect(kindsOf(other, graceful)).toEqual(["text"]);
  });

  test.each([
    ["that is not there, though its create was answered", [], ["answer"]],
    ["with a hole", WHOLE.toSpliced(2, 1), ["log", "text", "text"]],
    ["without an end", WHOLE.slice(0, -1), ["ends"]],
    ["with two", [...WHOLE, ...encode([{}, {}, {}, {}, {}, COMPLETED]).slice(5)], ["ends"]],
    ["that continues after its end", [...WHOLE, ...encode([{}, {}, {}, {}, {}, STARTED]).slice(5)], ["log"]],
    ["whose text is another", encode([REQUESTED, STARTED, delta("a"), delta("c"), COMPLETED]), ["text"]],
    [
      "whose text stops short",
      encode([REQUESTED, STARTED, delta("a"), { ...COMPLETED, usage: usage(1) }]),
      ["text"],
    ],
    [
      "that counts what was not produced",
      encode([REQUESTED, STARTED, delta("a"), delta("b"), { ...COMPLETED, usage: usage(3) }]),
      ["text"],
    ],
    [
      "with fewer tokens",
      encode([REQUESTED, STARTED, delta("ab"), { ...COMPLETED, usage: usage(1) }]),
      ["text"],
    ],
    ["that was cut short for its length", encode([REQUESTED, STARTED, delta("a"), CUT_SHORT]), ["ends"]],
    [
      "that is whole, and finished for its length",
      encode([REQUESTED, STARTED, delta("a"), delta("b"), { ...COMPLETED, finish_reason: "length" }]),
      ["ends"],
    ],
  ])("finds a log %s", (_, payloads, kinds) => {
    expect(kindsOf(payloads)).toEqual(kinds);
  });
});

describe("the judge of readers", () => {
  const mine = testedGeneration("acme");
  const theirs = testedGeneration("globex");
  const foreign = encode([REQUESTED, STARTED, delta("x"), delta("y"), COMPLETED]);
  const logs = [
    { generation: mine, payloads: WHOLE, stored: WHOLE },
    { generation: theirs, payloads: foreign, stored: foreign },
  ];
  let record: ReaderRecord;
  const show = (...seqs: number[]) => {
    for (const seq of seqs) record.show(seq, WHOLE[seq]!);
  };
  const kinds = async () => (await judgeReaders(logs, [record])).map(({ kind }) => kind);

  beforeEach(() => {
    record = new ReaderRecord("a reader", mine);
  });

  test("finds nothing wrong with one that was shown everything", async () => {
    show(1, 2, 3, 4);
    record.finish({ type: "ended" });
    expect(await kinds()).toEqual([]);
  });

  test("finds what was lost, duplicated and reordered", async () => {
    show(3, 2, 2, 4);
    record.finish({ type: "ended" });
    expect(await kinds()).toEqual(["lost", "duplicated", "reordered"]);
  });

  test("tells another tenant's event from an unknown one", async () => {
    show(1, 2, 3, 4);
    record.show(2, foreign[2]!);
    record.show(2, "forged");
    record.finish({ type: "ended" });
    expect(await kinds()).toEqual(["foreign", "unknown"]);
  });

  test("holds against a reader that was refused only that, unless it was shown what is wrong", async () => {
    record.finish({ type: "refused", code: "internal", message: "" });
    expect(await kinds()).toEqual(["refused"]);
  });

  test("asks nothing of one that left, but that what it saw was right", async () => {
    show(1, 2);
    record.finish({ type: "left" });
    expect(await kinds()).toEqual([]);
    record.show(3, "forged");
    expect(await kinds()).toEqual(["unknown"]);
  });
});

describe("the judge of what was acknowledged", () => {
  const generation = testedGeneration("acme");
  const subject = logSubject(generation.ref);
  const acked = (...payloads: readonly string[]) =>
    payloads.map((payload, index) => {
      const place = { stream: "GENERATIONS_0", streamSeq: index + 1, at: index };
      return { subject, payload, by: "worker-1", ...place };
    });
  const judge = (stored: readonly string[], ...payloads: readonly string[]) =>
    judgeAcks({ generation, payloads: stored, stored }, acked(...payloads)).map(({ kind }) => kind);

  test("finds nothing wrong where the log has it all, and more whose acknowledgement was lost", () => {
    expect(judge(WHOLE, ...WHOLE)).toEqual([]);
    expect(judge(WHOLE, ...WHOLE.slice(0, 3))).toEqual([]);
  });

  test("finds an acknowledged event that the log does not have, or has otherwise", () => {
    expect(judge(WHOLE.slice(0, 4), ...WHOLE)).toEqual(["unstored"]);
    expect(judge(WHOLE, encode([{}, {}, delta("c")])[2]!)).toEqual(["unstored"]);
  });
});
