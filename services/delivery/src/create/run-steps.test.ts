import { RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Creating } from "./creating.ts";
import { runSteps, type Step } from "./run-steps.ts";

const failure = new Error("failed");

/** Runs steps by name, and returns what was called. */
async function run(names: readonly string[], results: Readonly<Record<string, Partial<Step>>> = {}) {
  const calls: string[] = [];
  const steps = names.map((name): Step => ({
    name,
    ...results[name],
    run(creating) {
      calls.push(name);
      return results[name]?.run?.(creating) ?? Promise.resolve(undefined);
    },
    async undo(creating) {
      calls.push(`undo ${name}`);
      await results[name]?.undo?.(creating);
    },
    async yield() {
      calls.push(`yield ${name}`);
    },
  }));
  const errors: unknown[] = [];
  const error = await runSteps(steps, {} as Creating, (one) => errors.push(one)).catch((one: unknown) => one);
  return { calls, error, errors };
}

const failing = { run: () => Promise.reject(failure) };

test("runs all steps in order", async () => {
  expect(await run(["a", "b", "c"])).toEqual({ calls: ["a", "b", "c"], error: undefined, errors: [] });
});

test("ends after a step that says so, and undoes nothing", async () => {
  const { calls } = await run(["a", "b", "c"], { b: { run: async () => "done" } });
  expect(calls).toEqual(["a", "b"]);
});

test("undoes the steps before the one that fails in reverse order, each once", async () => {
  let repeats = 0;
  const c: Partial<Step> = { run: async () => (repeats++ === 0 ? { repeatFrom: "b" } : undefined) };
  const { calls, error } = await run(["a", "b", "c", "d"], { c, d: failing });
  expect(calls).toEqual(["a", "b", "c", "b", "c", "d", "undo c", "undo b", "undo a"]);
  expect(error).toBe(failure);
});

test("undoes nothing once the final step has begun", async () => {
  const { calls, error } = await run(["a", "b", "c"], { b: { isFinal: true }, c: failing });
  expect(calls).toEqual(["a", "b", "c"]);
  expect(error).toBe(failure);
});

test("yields in every step before it, once the id turns out to be another request's", async () => {
  const conflict = new RepriseError("idempotency_conflict", "taken");
  const c = { run: () => Promise.reject(conflict) };
  const { calls, error } = await run(["a", "b", "c"], { b: { isFinal: true }, c });
  expect(calls).toEqual(["a", "b", "c", "yield b", "yield a"]);
  expect(error).toBe(conflict);
});

test("undoes the other steps if one can't be undone, and throws the first failure", async () => {
  const stuck = new Error("stuck");
  const b = { undo: () => Promise.reject(stuck) };
  const { calls, error, errors } = await run(["a", "b", "c"], { b, c: failing });
  expect(calls).toEqual(["a", "b", "c", "undo b", "undo a"]);
  expect([error, errors]).toEqual([failure, [stuck]]);
});
