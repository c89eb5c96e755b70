import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGenerationId, logSubject } from "@reprise/protocol";
import { createAckLedger } from "@reprise/testkit";
import { beforeEach, describe, expect, test } from "vitest";
import { followRaw } from "../readers/raw-reader.ts";
import { ReaderRecord } from "../readers/reader-record.ts";
import type { FaultRow } from "../rows/row.ts";
import type { FaultWorld } from "../world/fault-world.ts";
import { createTenant } from "../world/tenant.ts";
import { judgeAcks, judgeLog } from "./judge-log.ts";
import { judgeReaders } from "./judge-readers.ts";
import { runTrial } from "./run-trial.ts";
import type { TestedGeneration } from "./tested-generation.ts";

/* Planted defects, each of which the judge must find. */

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
const STARTED = { type: "generation.started", attempt: 1, worker: "w", model: "sim", nonce: "5e0f9a" };
const COMPLETED = { type: "generation.completed", finish_reason: "stop", usage: usage(2) };
const CUT_SHORT = { type: "generation.completed", finish_reason: "length", usage: usage(1) };
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

  test.each([
    ["that is missing, though its create was answered", [], ["answer"]],
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

  test("finds an acknowledged event that the log does not have, or has otherwise", () => {
    expect(judge(WHOLE, ...WHOLE)).toEqual([]);
    expect(judge(WHOLE.slice(0, 4), ...WHOLE)).toEqual(["unstored"]);
    expect(judge(WHOLE, encode([{}, {}, delta("c")])[2]!)).toEqual(["unstored"]);
  });
});

interface Served {
  /** The last event of the response. */
  readonly to: number;
  readonly end: "clean" | "broken" | "error";
}

const LAST = WHOLE.length - 1;
const ERROR = 'event: error\ndata: {"error":{"code":"broker_unavailable","message":"","retryable":true}}\n\n';

/** Problems that the judge finds with a bare reader of a node whose responses are these, one after the other. */
async function judgeReaderOf(responses: readonly Served[], isExcused = false): Promise<readonly string[]> {
  const generation = testedGeneration("acme");
  let served = 0;
  const serve = (after: number, response: ServerResponse): void => {
    const { to, end } = responses[served++]!;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const seqs = Array.from({ length: Math.max(0, to - after) }, (_, index) => after + 1 + index);
    const frames = seqs.map((seq) => `id: 1.5e0f9a-${seq}\ndata: ${WHOLE[seq]}\n\n`).join("");
    const sent = end === "error" ? `${frames}${ERROR}` : frames;
    if (end === "clean") response.end(sent);
    else response.write(sent || ": ping\n", () => response.socket!.end());
  };
  const server = createServer(({ headers }, response) => {
    serve(Number(/\d+$/.exec(String(headers["last-event-id"] ?? "0"))![0]), response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const urls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`];
  const record = new ReaderRecord("raw-reader 0", generation);
  followRaw(record, { urls, first: 0, random: () => 0, isExcused: () => isExcused });
  await record.done;
  server.close();
  await once(server, "close");
  const found = await judgeReaders([{ generation, payloads: WHOLE, stored: WHOLE }], [record]);
  return found.map(({ kind }) => kind);
}

describe("the judge of a bare reader's responses", () => {
  test("finds nothing wrong with a break before the end, and a clean end after it", async () => {
    expect(
      await judgeReaderOf([
        { to: 2, end: "broken" },
        { to: 2, end: "error" },
        { to: LAST, end: "clean" },
      ]),
    ).toEqual([]);
  });

  test.each([
    ["in the middle of the text", 2],
    ["before the first event", 0],
  ])("finds a response that ends cleanly %s, though its reader resumed and lost nothing", async (_, to) => {
    expect(
      await judgeReaderOf([
        { to, end: "clean" },
        { to: LAST, end: "clean" },
      ]),
    ).toEqual(["early_end"]);
  });

  test.each(["broken", "error"] as const)("finds one that is %s after the terminal event", async (end) => {
    const responses = [
      { to: LAST, end },
      { to: LAST, end: "clean" },
    ] as const;
    expect(await judgeReaderOf(responses)).toEqual(["late_break"]);
    expect(await judgeReaderOf(responses, true)).toEqual([]);
  });
});

describe("a trial", () => {
  const row: FaultRow = {
    name: "nothing",
    about: "nothing is broken",
    proof: "something is",
    world: {},
    run: () => Promise.resolve(),
  };
  const world = {
    tenants: [],
    deliveries: [],
    workers: [],
    moderations: [],
    broker: { acks: createAckLedger(() => true) },
    heal: () => Promise.resolve(),
  } as unknown as FaultWorld;
  const kindsOf = async (run: FaultRow["run"]) =>
    (await runTrial(world, { ...row, run }, 1)).violations.map(({ kind }) => kind);

  test("whose fault hit nothing fails as that", async () => {
    expect(await kindsOf(() => Promise.resolve())).toEqual(["no_fault"]);
    expect(await kindsOf((trial) => Promise.resolve(trial.hit(0)))).toEqual(["no_fault"]);
    expect(await kindsOf((trial) => Promise.resolve(trial.hit()))).toEqual([]);
  });

  test("whose acknowledgements were not seen fails, for its judge was blind", async () => {
    const generation = testedGeneration("acme");
    const blind: FaultRow["run"] = (trial) => {
      trial.hit();
      trial.generations.push(generation);
      trial.seal(generation, WHOLE);
      return Promise.resolve();
    };
    expect(await kindsOf(blind)).toEqual(["harness"]);
  });
});
