import {
  asSeq,
  encodeEvent,
  type InputEntry,
  type InputFormat,
  type KnownEvent,
  parseTenantId,
  REQUEST_SEQ,
  usageAtEnd,
} from "@reprise/protocol";
import { InputWriter } from "@reprise/stream";
import { accountsOf, MemoryLedger } from "@reprise/tenancy";
import { delta, started } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
import { openWorld, type Submission, transcriptOf, type World } from "../../testing/world.ts";

const engine = createSimEngine();
const BUDGETS = [{ name: "month", limit: 1_000, period: "2026-11" }];
const typed = (text: string): InputEntry => ({ type: "input.delta", text });
const END: InputEntry = { type: "input.end" };
const silent = createFakeEngine(async function* (_request, { input }) {
  for await (const { seq } of input!) yield { type: "text", text: "", tokens: 0, consumed: seq };
  yield { type: "finish", reason: "stop" };
});
let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

async function submit(
  entries: readonly InputEntry[],
  { format = "text", ...submission }: Submission & { format?: InputFormat } = {},
) {
  const { log, broker } = world;
  const request = { input: [], input_stream: { format } };
  const ref = await world.submit({ request, ...submission });
  const writer = new InputWriter({ publish: log.publish, reads: broker.reads, ref, budgetMs: log.budgetMs });
  for (const [i, entry] of entries.entries()) await writer.append(asSeq(i + 1), [entry]);
  return ref;
}

async function remainingOf(ledger: MemoryLedger) {
  const [account] = accountsOf(parseTenantId("acme"), BUDGETS);
  const [grant] = await ledger.claim("probe", [{ account: account!, used: 0, want: 0 }]);
  return grant?.remaining;
}

const endOf = (events: readonly KnownEvent[]) => events.at(-1);

test("streamed text is estimated by its bytes, in the end, in the log and in budgets", async () => {
  const ledger = new MemoryLedger();
  const ref = await submit([typed("x".repeat(100)), typed("é".repeat(50)), END], { budgets: BUDGETS });
  expect(await world.run(ref, engine, { ledger })).toBe("completed");
  const events = await world.read(ref);
  const estimated = { input_tokens: 50, estimated_input_tokens: 50 };
  expect(endOf(events)).toMatchObject({ usage: { ...estimated, output_tokens: 2 } });
  await expect.poll(() => remainingOf(ledger)).toBe(1_000 - 50 - 2);
  // An end by another process, before this one's.
  const transcript = transcriptOf(events.slice(0, -1));
  expect(usageAtEnd(transcript, encodeEvent(REQUEST_SEQ, events[0]!))).toMatchObject(estimated);
});

test("a second of sound is estimated as ten tokens", async () => {
  const audio = new Uint8Array(16_000);
  const ref = await submit([{ type: "input.audio", audio }, { type: "input.audio", audio }, END], {
    format: "audio/pcm;rate=8000;channels=1",
  });
  expect(await world.run(ref, engine)).toBe("completed");
  expect(endOf(await world.read(ref))).toMatchObject({ usage: { input_tokens: 20 } });
});

test("input that an earlier worker has consumed is counted once", async () => {
  const history = [started(1), { ...delta("x".repeat(40)), consumed: asSeq(1), consumed_bytes: 40 }];
  const ref = await submit([typed("x".repeat(40)), typed("y".repeat(40)), END], { history });
  expect(await world.run(ref, engine)).toBe("completed");
  expect(endOf(await world.read(ref))).toMatchObject({ usage: { input_tokens: 20 } });
});

test("a budget ends a generation whose input uses it up", async () => {
  const ledger = new MemoryLedger();
  const said = Array.from({ length: 64 }, () => typed("x".repeat(1_000)));
  const ref = await submit([...said, END], { budgets: BUDGETS });
  expect(await world.run(ref, engine, { ledger })).toBe("failed");
  const end = endOf(await world.read(ref));
  expect(end).toMatchObject({ error: { code: "budget_exceeded" } });
  expect(end).toHaveProperty(
    "usage.input_tokens",
    expect.toSatisfy((tokens: number) => tokens >= 1_000),
  );
});

test("a budget that an earlier worker's input has used up ends the generation before the engine is asked", async () => {
  const history = [started(1), { ...delta("x"), consumed: asSeq(1), consumed_bytes: 8_000 }];
  const ref = await submit([typed("x".repeat(8_000)), END], { budgets: BUDGETS, history });
  const unasked = createFakeEngine(async function* () {
    yield { type: "text", text: "was asked" };
    yield { type: "finish", reason: "stop" };
  });
  expect(await world.run(ref, unasked, { ledger: new MemoryLedger() })).toBe("failed");
  const events = await world.read(ref);
  expect(endOf(events)).toMatchObject({ error: { code: "budget_exceeded" } });
  expect(JSON.stringify(events)).not.toContain("was asked");
});

test("a budget ends a generation whose engine only listens", async () => {
  const said = Array.from({ length: 20 }, () => typed("x".repeat(16_000)));
  const ref = await submit([...said, END], { budgets: [{ ...BUDGETS[0]!, limit: 20_000 }] });
  expect(await world.run(ref, silent, { ledger: new MemoryLedger() })).toBe("failed");
  expect(endOf(await world.read(ref))).toMatchObject({ error: { code: "budget_exceeded" } });
});

test("an engine that has nothing to say tells what it has consumed", async () => {
  const ref = await submit([typed("x".repeat(40)), { type: "input.commit" }, END]);
  expect(await world.run(ref, silent)).toBe("completed");
  const events = await world.read(ref);
  expect(transcriptOf(events).consumed).toBe(3);
  expect(endOf(events)).toMatchObject({ usage: { input_tokens: 10, output_tokens: 0 } });
});
