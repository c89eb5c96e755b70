import { type KnownEvent, parseTenantId, RepriseError } from "@reprise/protocol";
import { accountsOf, type BudgetLedger, MemoryLedger } from "@reprise/tenancy";
import { expect, test } from "vitest";
import type { Engine } from "../engines/engine.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld, textOf } from "../testing/world.ts";

const BUDGETS = [{ name: "month", limit: 1_000, period: "2026-11" }];
const [ACCOUNT] = accountsOf(parseTenantId("acme"), BUDGETS);
if (!ACCOUNT) throw new Error("There is no account.");
const account = ACCOUNT;
/** "Say something." */
const INPUT = 4;

/** Yields this many tokens, as fast as allowed. */
function talker(tokens: number): Engine {
  return createFakeEngine(async function* () {
    for (let i = 0; i < tokens; i++) yield { type: "text", text: "x" };
    yield { type: "finish", reason: "stop" };
  });
}

/** An engine that says tokens for as long as it is asked to. */
function endless(onAsked = () => {}): Engine {
  return createFakeEngine(async function* (_request, { signal }) {
    onAsked();
    for (; !signal.aborted;) yield { type: "text", text: "x" };
  });
}

const remainingOf = async (ledger: BudgetLedger) => {
  const [grant] = await ledger.claim("probe", [{ account, used: 0, want: 0 }]);
  return grant?.remaining;
};
const endOf = (events: readonly KnownEvent[]) => events.at(-1);

test("a generation that uses up its budget ends there, and what it has said is kept", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const ref = await world.submit({ budgets: BUDGETS });
  expect(await world.run(ref, endless(), { ledger })).toBe("failed");
  const events = await world.read(ref);
  expect(endOf(events)).toMatchObject({
    type: "generation.failed",
    error: { code: "budget_exceeded", retryable: false },
    usage: { output_tokens: 1_000 - INPUT },
  });
  expect(textOf(events)).toBe("x".repeat(1_000 - INPUT));
  await expect.poll(() => remainingOf(ledger)).toBe(0);
});

test("a generation within its budget is counted with what it has used", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const ref = await world.submit({ budgets: BUDGETS });
  expect(await world.run(ref, talker(300), { ledger })).toBe("completed");
  await expect.poll(() => remainingOf(ledger)).toBe(1_000 - INPUT - 300);
});

test("an engine is not asked where the budget is used up", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  await ledger.settle("another", [{ account, used: 1_000 }]);
  const ref = await world.submit({ budgets: BUDGETS });
  let asked = 0;
  expect(
    await world.run(
      ref,
      endless(() => asked++),
      { ledger },
    ),
  ).toBe("failed");
  expect([asked, endOf(await world.read(ref))?.type]).toEqual([0, "generation.failed"]);
});

test("generations at once stay within their budget, and leave little of it", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const refs = await Promise.all(Array.from({ length: 8 }, () => world.submit({ budgets: BUDGETS })));
  await world.startWorker(endless(), { ledger });
  const logs = await Promise.all(refs.map((ref) => world.untilEnded(ref)));
  const said = logs.reduce((sum, events) => sum + INPUT + textOf(events).length, 0);
  expect(said).toBeLessThanOrEqual(1_000);
  expect(said).toBeGreaterThan(1_000 - 64);
});

test("a worker continues with the count of the one that it takes over from", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const history = [
    { type: "generation.started", attempt: 1, worker: "worker-gone", model: "fake" },
    ...Array.from(
      { length: 10 },
      () => ({ type: "output.delta", text: "y".repeat(90), tokens: 90 }) as const,
    ),
  ] as const;
  const ref = await world.submit({ budgets: BUDGETS, history });
  await ledger.claim(ref.generation, [{ account, used: 800, want: 64 }]);
  await world.run(ref, endless(), { ledger });
  const events = await world.read(ref);
  const { usage } = endOf(events) as Extract<KnownEvent, { type: "generation.failed" }>;
  expect(usage.output_tokens).toBe(1_000 - INPUT);
});

test("a run waits for a ledger that does not know what is left, and continues with its answer", async () => {
  await using world = await openWorld();
  const memory = new MemoryLedger();
  let isKnown = false;
  const waiting = Promise.withResolvers<void>();
  let claims = 0;
  const ledger: BudgetLedger = {
    reserve: (generation, claim) => memory.reserve(generation, claim),
    settle: (generation, uses) => memory.settle(generation, uses),
    seed: (seeds) => memory.seed(seeds),
    async claim(generation, wanted) {
      if (isKnown) return memory.claim(generation, wanted);
      if (++claims === 2) waiting.resolve();
      return wanted.map(({ used }) => ({ granted: used, remaining: 0, isAlone: true }) as const);
    },
  };
  const ref = await world.submit({ budgets: BUDGETS });
  const run = world.run(ref, talker(10), { ledger });
  await waiting.promise;
  isKnown = true;
  expect(await run).toBe("completed");
});

/** A millionth of a unit for a token of the input, and three for one of the output. */
const PRICE = { input: "1", output: "3" };
const MONEY = {
  name: "month",
  // 0.001 EUR: 332 tokens of output after the input's 4.
  limit: 1_000_000,
  period: "2026-11",
  money: { currency: "EUR", prices: { fake: PRICE } },
};

test("a generation ends where its budget in money does", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ budgets: [MONEY] });
  expect(await world.run(ref, endless(), { ledger: new MemoryLedger() })).toBe("failed");
  expect(endOf(await world.read(ref))).toMatchObject({
    error: { code: "budget_exceeded", message: "The budget month of 0.001 EUR is used up." },
    usage: { output_tokens: 332 },
  });
});

test("of a budget in tokens and one in money the one that is used up first ends a generation", async () => {
  await using world = await openWorld();
  const tokens = { name: "tokens", limit: 200, period: "2026-11" };
  const ref = await world.submit({ budgets: [MONEY, tokens] });
  expect(await world.run(ref, endless(), { ledger: new MemoryLedger() })).toBe("failed");
  expect(endOf(await world.read(ref))).toMatchObject({
    error: { code: "budget_exceeded", message: "The budget tokens of 200 tokens is used up." },
    usage: { output_tokens: 200 - INPUT },
  });
});

test("what an engine counts of the input, cached or not, is paid for while it continues", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* (_request, { signal }) {
    yield { type: "text", text: "x", inputTokens: 400, cachedInputTokens: 300 };
    for (; !signal.aborted;) yield { type: "text", text: "x" };
  });
  const prices = { fake: { ...PRICE, cached_input: "0.5" } };
  const ref = await world.submit({ budgets: [{ ...MONEY, money: { currency: "EUR", prices } }] });
  const ledger = new MemoryLedger();
  expect(await world.run(ref, engine, { ledger })).toBe("failed");
  // 100 at 1 and 300 at 0.5 are 250 of 1,000, and 250 at 3 the rest.
  expect(endOf(await world.read(ref))).toMatchObject({
    error: { code: "budget_exceeded" },
    usage: { output_tokens: 250 },
  });
});

test("an engine of a model without a price is not asked", async () => {
  await using world = await openWorld();
  const unpriced = { ...MONEY, money: { currency: "EUR", prices: {} } };
  const ref = await world.submit({ budgets: [unpriced] });
  let asked = 0;
  const engine = endless(() => asked++);
  const run = world.run(ref, engine, { ledger: new MemoryLedger(), onError: () => {} });
  expect(await run).toBe("failed");
  expect(endOf(await world.read(ref))).toMatchObject({ error: { code: "budget_unpriced" } });
  expect(asked).toBe(0);
});

test("a fallback is paid for with its own price, and one without a price is not asked", async () => {
  await using world = await openWorld();
  const broken = createFakeEngine(async function* () {
    yield* [];
    throw new RepriseError("engine_failed", "The first engine is broken.");
  });
  const ledger = new MemoryLedger();
  const wide = { ...MONEY, limit: 1_000_000_000 };
  const both = {
    ...wide,
    money: { currency: "EUR", prices: { fake: PRICE, small: { input: "10", output: "30" } } },
  };
  const [priced, unpriced] = [
    await world.submit({ budgets: [both] }),
    await world.submit({ budgets: [wide] }),
  ];
  await world.startWorker(broken, { fallback: { model: "small", engine: talker(100) }, ledger });
  expect(endOf(await world.untilEnded(priced))?.type).toBe("generation.completed");
  expect(endOf(await world.untilEnded(unpriced))).toMatchObject({ error: { code: "budget_unpriced" } });
  const [probed] = accountsOf(parseTenantId("acme"), [both]);
  if (!probed) throw new Error("There is no account.");
  const remaining = async () => {
    const [grant] = await ledger.claim("probe", [{ account: probed, used: 0, want: 0 }]);
    return grant?.remaining;
  };
  // 4 at 10 and 100 at 30; of the other one nothing, for no engine has read its input.
  await expect.poll(remaining).toBe(1_000_000_000 - 3_040_000);
});

test("output that costs nothing is not cut off, though its input has used the budget up", async () => {
  await using world = await openWorld();
  const prices = { fake: { input: "250", output: "0" } };
  const ref = await world.submit({ budgets: [{ ...MONEY, money: { currency: "EUR", prices } }] });
  expect(await world.run(ref, talker(300), { ledger: new MemoryLedger() })).toBe("completed");
});

test("a generation that ends before this worker asks an engine, and whose log says nothing was used, uses nothing", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const history = [{ type: "generation.started", attempt: 1, worker: "worker-gone", model: "fake" }] as const;
  const ref = await world.submit({ budgets: BUDGETS, history, policy: { max_attempts: 1 } });
  await ledger.claim(ref.generation, [{ account, used: INPUT, want: 64 }]);
  expect(await world.run(ref, endless(), { ledger })).toBe("failed");
  expect(endOf(await world.read(ref))).toMatchObject({ error: { code: "worker_lost" } });
  await expect.poll(() => remainingOf(ledger)).toBe(1_000);
});

/** Produces this many hidden reasoning tokens, unless asked for fewer, and then three tokens of text. */
function thinker(thoughts: number, unseen: Engine["unseen"], asked: (number | undefined)[] = []): Engine {
  return createFakeEngine(
    async function* ({ max_output_tokens: most = Number.POSITIVE_INFINITY }) {
      asked.push(most);
      await Promise.resolve();
      const usage = { input_tokens: INPUT, output_tokens: Math.min(most, thoughts + 3) };
      if (most < thoughts + 3) yield { type: "finish", reason: "length", usage };
      else {
        for (let i = 0; i < 3; i++) yield { type: "text", text: "x" };
        yield { type: "finish", reason: "stop", usage };
      }
    },
    { unseen },
  );
}

const usedOf = (logs: readonly (readonly KnownEvent[])[]) =>
  logs.reduce((sum, events) => {
    const end = events.at(-1);
    const usage = end && "usage" in end ? end.usage : undefined;
    return sum + (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
  }, 0);

test.each([
  ["an unknown most", { tokens: 4_096, isMost: false }, 900],
  ["more thoughts than are left", { tokens: 4_096, isMost: false }, 30_000],
] as const)(
  "generations at once stay within their budget though their model thinks without showing it: %s",
  async (_name, unseen, thoughts) => {
    await using world = await openWorld();
    const ledger = new MemoryLedger();
    const budgets = [{ name: "month", limit: 2_000, period: "2026-11" }];
    const refs = await Promise.all(Array.from({ length: 10 }, () => world.submit({ budgets })));
    await world.startWorker(thinker(thoughts, unseen), { ledger });
    const logs = await Promise.all(refs.map((ref) => world.untilEnded(ref)));
    expect(usedOf(logs)).toBeLessThanOrEqual(2_000);
    expect(usedOf(logs)).toBeGreaterThan(900);
    const codes = logs.map(endOf).flatMap((end) => (end?.type === "generation.failed" ? end.error.code : []));
    expect(new Set(codes)).toEqual(new Set(["budget_exceeded"]));
  },
);

test("an engine that has made all that was left of a budget without a word ends with it, and is counted", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const asked: (number | undefined)[] = [];
  const ref = await world.submit({ budgets: BUDGETS });
  const engine = thinker(5_000, { tokens: 4_096, isMost: false }, asked);
  expect(await world.run(ref, engine, { ledger })).toBe("failed");
  expect(asked).toEqual([1_000 - INPUT]);
  expect(endOf(await world.read(ref))).toMatchObject({
    error: { code: "budget_exceeded" },
    usage: { output_tokens: 1_000 - INPUT },
  });
  await expect.poll(() => remainingOf(ledger)).toBe(0);
});

test("an engine is asked for no more than its model's most, and is not told where that is not known and the budget is wide", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const asked: (number | undefined)[] = [];
  const budgets = [{ name: "wide", limit: 100_000, period: "2026-11" }];
  for (const unseen of [
    { tokens: 1_500, isMost: true },
    { tokens: 4_096, isMost: false },
  ])
    await world.run(await world.submit({ budgets }), thinker(900, unseen, asked), { ledger });
  expect(asked).toEqual([1_500, Number.POSITIVE_INFINITY]);
});
