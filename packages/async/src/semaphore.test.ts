import { expect, test } from "vitest";
import { Semaphore } from "./semaphore.ts";

/** Tasks at a semaphore that the test ends one by one; `begun` has those that have begun, in that order. */
function tasksAt(gate: Semaphore, count: number) {
  const begun: number[] = [];
  const tasks = Array.from({ length: count }, (_, number) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const done = gate.run(() => {
      begun.push(number);
      return promise;
    });
    return { done, resolve: () => resolve(number), reject };
  });
  return { begun, tasks };
}

test("a limited number of tasks runs at once, and the others follow in the order in which they came", async () => {
  const { begun, tasks } = tasksAt(new Semaphore(2), 5);
  expect(begun).toEqual([0, 1]);
  tasks[1]!.resolve();
  expect(await tasks[1]!.done).toBe(1);
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of tasks) resolve();
  expect(await Promise.all(tasks.map(({ done }) => done))).toEqual([0, 1, 2, 3, 4]);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test("a task that fails makes room too", async () => {
  const { tasks } = tasksAt(new Semaphore(1), 2);
  tasks[0]!.reject(new Error("no"));
  await expect(tasks[0]!.done).rejects.toThrow("no");
  tasks[1]!.resolve();
  expect(await tasks[1]!.done).toBe(1);
});

test("a task whose signal aborts while it waits is never begun, and leaves its place to the next", async () => {
  const gate = new Semaphore(1);
  const { begun, tasks } = tasksAt(gate, 1);
  const stop = new AbortController();
  const stopped = gate.run(() => Promise.resolve(begun.push(1)), stop.signal);
  const last = gate.run(() => Promise.resolve(begun.push(2)), new AbortController().signal);
  stop.abort(new Error("stopped"));
  await expect(stopped).rejects.toThrow("stopped");
  await expect(gate.run(() => Promise.resolve(begun.push(3)), stop.signal)).rejects.toThrow("stopped");
  tasks[0]!.resolve();
  await last;
  expect(begun).toEqual([0, 2]);
});
