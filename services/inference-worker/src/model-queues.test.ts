import { setImmediate } from "node:timers/promises";
import type { Puller } from "@reprise/jobs";
import { expect, test } from "vitest";
import { ModelQueues, type ServedModel } from "./model-queues.ts";
import { createFakeEngine } from "./testing/fake-engines.ts";

/** Served models whose engines and queues write down when they are let go. */
function world() {
  const gone: string[] = [];
  const model = (name: string): [string, ServedModel] => {
    const close = async () => void gone.push(`engine ${name}`);
    return [name, { engine: createFakeEngine(async function* () {}, { close }), slots: 1 }];
  };
  const serve = async (_served: ServedModel, name: string): Promise<Puller> => {
    if (name === "broken") throw new Error("this queue can't be opened");
    return {
      stop: () => void gone.push(`queue ${name}`),
      idle: async () => undefined,
      slotsUsed: 0,
      running: 0,
    };
  };
  return { gone, model, serve };
}

test("models that are replaced let go of their queues first, and then of their engines", async () => {
  const { gone, model, serve } = world();
  const queues = await ModelQueues.open(new Map([model("old")]), serve);
  await queues.replace(new Map([model("new")]));
  await queues.close();
  expect(gone).toEqual(["queue old", "engine old", "queue new", "engine new"]);
});

test("a model that is let go takes its fallback's engine along", async () => {
  const { gone, model, serve } = world();
  const [name, served] = model("main");
  const [, { engine }] = model("spare");
  const queues = await ModelQueues.open(
    new Map([[name, { ...served, fallback: { model: "spare", engine } }]]),
    serve,
  );
  await queues.close();
  expect(gone).toEqual(["queue main", "engine main", "engine spare"]);
});

test("when a new queue can't be opened the earlier models stay, and what was opened is let go", async () => {
  const { gone, model, serve } = world();
  const queues = await ModelQueues.open(new Map([model("old")]), serve);
  const next = new Map([model("new"), model("broken")]);
  await expect(queues.replace(next)).rejects.toThrow("this queue can't be opened");
  expect(gone).toContain("queue new");
  expect(gone).not.toContain("queue old");
});

test("an engine that can't be let go is told of when the worker closes, and is no end of its process before", async () => {
  const { gone, model, serve } = world();
  const failed = new Error("this engine can't be closed");
  const engine = createFakeEngine(async function* () {}, { close: () => Promise.reject(failed) });
  const queues = await ModelQueues.open(new Map([["old", { engine, slots: 1 }]]), serve);
  await queues.replace(new Map([model("new")]));
  // By then Node has reported unhandled rejections.
  await setImmediate();
  await expect(queues.close()).rejects.toBe(failed);
  expect(gone).toEqual(["queue old", "queue new", "engine new"]);
});
