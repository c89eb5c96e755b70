import { subscribeEnds } from "@reprise/stream";
import type { EventDraft } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { Prefix } from "../engines/engine.ts";
import { createSimEngine } from "../engines/sim/sim-engine.ts";
import { delta, started } from "../testing/drafts.ts";
import { createFakeEngine, createSilentEngine } from "../testing/fake-engines.ts";

import { openWorld, textOf, typesOf, type World } from "../testing/world.ts";

/*
 * Takeover of a log that an earlier worker has left. Those workers have died before the test began, or
 * hand over in order; test/e2e/takeover.test.ts kills real processes.
 */

test("a second attempt continues after the exact prefix, and the counts of both add up", async () => {
  await using world = await openWorld();
  const prefixes: Prefix[] = [];
  const engine = createFakeEngine(
    async function* (_request, { prefix }) {
      prefixes.push(prefix);
      yield { type: "text", text: " upon a time" };
      yield { type: "finish", reason: "stop", usage: { input_tokens: 9, output_tokens: 4 } };
    },
    { canContinue: () => true },
  );
  const ref = await world.submit({ history: [started(1), delta("Once", 3)] });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(prefixes).toEqual([{ text: "Once", tokens: 3 }]);
  expect(textOf(events)).toBe("Once upon a time");
  expect(events[3]).toMatchObject({ type: "generation.started", attempt: 2 });
  expect(events.at(-1)).toMatchObject({ usage: { input_tokens: 2, output_tokens: 7 } });
});

test("where the engine can't continue, what was shown is withdrawn first, and the whole text follows", async () => {
  await using world = await openWorld();
  const engine = createFakeEngine(async function* () {
    yield { type: "text", text: "All of it" };
    yield { type: "finish", reason: "stop" };
  });
  const ref = await world.submit({ history: [started(1), delta("All"), delta(" of")] });
  await world.startWorker(engine);
  const events = await world.untilEnded(ref);
  expect(events.slice(4, 6)).toMatchObject([
    { type: "generation.started", attempt: 2 },
    { type: "output.rewind", to_seq: 0, reason: "worker_lost" },
  ]);
  expect(textOf(events)).toBe("All of it");
  // Three tokens were produced, although two of them are not shown any more.
  expect(events.at(-1)).toMatchObject({ usage: { output_tokens: 3 } });
});

test("a generation whose attempts are used up gets one end when many workers take its job", async () => {
  await using world = await openWorld();
  const ref = await world.submit({
    policy: { max_attempts: 2 },
    history: [started(1), delta("a"), started(2)],
  });
  await world.startWorker(createSimEngine());
  await world.startWorker(createSimEngine());
  await world.untilEnded(ref);
  await expect.poll(() => world.queuedJobs()).toBe(0);
  expect(typesOf(await world.read(ref)).slice(4)).toEqual(["generation.failed"]);
});

test("an attempt that a higher one has fenced lets go of its engine and writes nothing more", async () => {
  await using world = await openWorld();
  const { engine, aborted } = createSilentEngine("mine");
  const worker = await world.startWorker(engine, { ackWaitMs: 600_000 });
  const ref = await world.submit();
  await world.until(ref, (events) => events.length === 3);
  await world.append(ref, started(2));
  await aborted;
  await worker.close();
  expect(typesOf(await world.read(ref))).toEqual([
    "generation.requested",
    "generation.started",
    "output.delta",
    "generation.started",
  ]);
  // The job belongs to the higher attempt now.
  expect(await world.queuedJobs()).toBe(1);
});

test("a last event of the lost worker, stored after the next one has read the log, is not said twice", async () => {
  await using world = await openWorld();
  const prefixes: string[] = [];
  const engine = createFakeEngine(
    async function* (_request, { prefix }) {
      prefixes.push(prefix.text);
      yield { type: "text", text: "c" };
      yield { type: "finish", reason: "stop" };
    },
    { canContinue: () => true },
  );
  const ref = await world.submit({ history: [started(1), delta("a")] });
  const { reader } = world.log;
  let late: EventDraft | undefined = delta("b");
  const readLog: typeof reader.readLog = async (of) => {
    const snapshot = await reader.readLog(of);
    if (late) await world.append(ref, late);
    late = undefined;
    return snapshot;
  };
  const log = { ...world.log, reader: { ...reader, readLog } };
  expect(await world.run(ref, engine, { log })).toBe("completed");
  const events = await world.read(ref);
  expect(textOf(events)).toBe("abc");
  expect(prefixes).toEqual(["ab"]);
  expect(events.filter(({ type }) => type === "generation.started")).toHaveLength(2);
});

test("a job of one model whose generation asks for another ends the generation, and runs nothing", async () => {
  await using world = await openWorld();
  const ref = await world.submit();
  expect(
    await world.run(
      ref,
      createFakeEngine(() => unreachable()),
      { model: "another" },
    ),
  ).toBe("failed");
  expect((await world.read(ref)).at(-1)).toMatchObject({ error: { code: "idempotency_conflict" } });
});

test("a defect in an engine's adapter ends the generation instead of running its job for ever", async () => {
  await using world = await openWorld();
  const ref = await world.submit({ history: [started(1), delta("So far")] });
  const canContinue = () => {
    throw new Error("a defect");
  };
  const defects: unknown[] = [];
  const onError = (error: unknown) => defects.push(error);
  const announced = endsOf(world);
  expect(
    await world.run(
      ref,
      createFakeEngine(() => unreachable(), { canContinue }),
      { onError },
    ),
  ).toBe("failed");
  expect((await world.read(ref)).at(-1)).toMatchObject({ error: { code: "internal" } });
  expect(defects).toHaveLength(1);
  await world.broker.main.flush();
  expect(announced).toMatchObject([{ ref, usage: {} }]);
});

test("an end that a lost worker has stored and not announced is announced by the worker that gets the job", async () => {
  await using world = await openWorld();
  const usage = { input_tokens: 3, output_tokens: 1 };
  const end = { type: "generation.completed", finish_reason: "stop", usage } as const;
  const ref = await world.submit({ history: [started(1), delta("All"), end] });
  const announced = endsOf(world);
  expect(
    await world.run(
      ref,
      createFakeEngine(() => unreachable()),
    ),
  ).toBe("nothing_to_do");
  await world.broker.main.flush();
  expect(announced).toEqual([{ ref, usage }]);
});

/** The ends that all nodes are told, from now on. */
function endsOf({ broker }: World): unknown[] {
  const ends: unknown[] = [];
  subscribeEnds(broker.main, {
    onEnd: (ref, usage) => ends.push({ ref, usage }),
    onError: (error) => ends.push(error),
  });
  return ends;
}

function unreachable(): never {
  throw new Error("the engine was asked");
}
