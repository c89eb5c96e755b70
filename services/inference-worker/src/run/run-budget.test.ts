import { DEFAULT_POLICY, type KnownEvent, parseTenantId } from "@reprise/protocol";
import { accountsOf, type BudgetLedger, MemoryLedger } from "@reprise/tenancy";
import { expect, test } from "vitest";
import type { Engine } from "../engines/engine.ts";
import { createFakeEngine } from "../testing/fake-engine.ts";
import { openWorld, textOf } from "../testing/world.ts";

const BUDGETS = [{ name: "month", limit: 1_000, period: "2026-11" }];
const [ACCOUNT] = accountsOf(parseTenantId("acme"), BUDGETS);
if (!ACCOUNT) throw new Error("There is no account.");
const account = ACCOUNT;
/** "Say something." */
const INPUT = 4;

/** Says so many tokens, as fast as it may. */
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

test("a worker goes on with the count of the one that it takes over from", async () => {
  await using world = await openWorld();
  const ledger = new MemoryLedger();
  const history = [
    { type: "generation.started", attempt: 1, worker: "worker-gone", model: "fake" },
    ...Array.from(
      { length: 10 },
      () => ({ type: "output.delta", text: "y".repeat(90), tokens: 90 }) as const,
    ),
  ] as const;
  const ref = await world.submit({ budgets: BUDGETS, history, policy: { ...DEFAULT_POLICY } });
  await ledger.claim(ref.generation, [{ account, used: 800, want: 64 }]);
  await world.run(ref, endless(), { ledger });
  const events = await world.read(ref);
  const { usage } = endOf(events) as Extract<KnownEvent, { type: "generation.failed" }>;
  expect(usage.output_tokens).toBe(1_000 - INPUT);
});

test("a run waits for a ledger that does not know what is left, and goes on with its answer", async () => {
  await using world = await openWorld();
  const memory = new MemoryLedger();
  let isKnown = false;
  const waiting = Promise.withResolvers<void>();
  let claims = 0;
  const ledger: BudgetLedger = {
    reserve: (generation, claim) => memory.reserve(generation, claim),
    settle: (generation, uses) => memory.settle(generation, uses),
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
