import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { randomBytes } from "node:crypto";
import { createGenerationId } from "@reprise/protocol";
import { createAckLedger } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { followRaw } from "../readers/raw-reader.ts";
import { ReaderRecord } from "../readers/reader-record.ts";
import type { FaultRow } from "../rows/row.ts";
import type { FaultWorld } from "../world/fault-world.ts";
import { createTenant } from "../world/tenant.ts";
import { judgeReaders } from "./judge-readers.ts";
import { runTrial } from "./run-trial.ts";
import type { TestedGeneration } from "./tested-generation.ts";

/* Defects that are planted where the suite looks for them: each of them has to be found. */

const STORED = [
  { type: "generation.requested" },
  { type: "generation.started", attempt: 1, worker: "w", model: "sim", nonce: "5e0f9a" },
  { type: "output.delta", text: "a" },
  { type: "generation.completed", finish_reason: "stop", usage: { input_tokens: 1, output_tokens: 1 } },
].map((event, seq) => JSON.stringify({ seq, ...event }));
const LAST = STORED.length - 1;

function testedGeneration(): TestedGeneration {
  const tenant = createTenant("acme");
  const generation = createGenerationId(randomBytes(17), 1);
  return {
    id: generation,
    ref: { tenant: tenant.id, generation },
    tenant,
    request: { model: "sim", input: "Go on." },
    undisturbed: { tokens: ["a"], finishReason: "stop" },
    wholeText: "a",
    mayEnd: ["generation.completed"],
    mayFinish: undefined,
  };
}

interface Served {
  /** The last event of the response. */
  readonly to: number;
  readonly end: "clean" | "broken" | "error";
}

const ERROR = 'event: error\ndata: {"error":{"code":"broker_unavailable","message":"","retryable":true}}\n\n';

/** Problems that the judge finds with a bare reader of a node whose responses are these, one after the other. */
async function judgeReaderOf(responses: readonly Served[], isExcused = false): Promise<readonly string[]> {
  const generation = testedGeneration();
  let served = 0;
  const serve = (after: number, response: ServerResponse): void => {
    const { to, end } = responses[served++]!;
    response.writeHead(200, { "content-type": "text/event-stream" });
    const seqs = Array.from({ length: Math.max(0, to - after) }, (_, index) => after + 1 + index);
    const frames = seqs.map((seq) => `id: 1.5e0f9a-${seq}\ndata: ${STORED[seq]}\n\n`).join("");
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
  const found = await judgeReaders([{ generation, payloads: STORED, stored: STORED }], [record]);
  return found.map(({ kind }) => kind);
}

describe("the ledger of readers", () => {
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
    const generation = testedGeneration();
    const blind: FaultRow["run"] = (trial) => {
      trial.hit();
      trial.generations.push(generation);
      trial.seal(generation, STORED);
      return Promise.resolve();
    };
    expect(await kindsOf(blind)).toEqual(["harness"]);
  });
});
