import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type GenerationLog, type StoredEvent } from "@reprise/stream";
import { type Job, publishPresence } from "@reprise/jobs";
import { type GenerationRef, parseNodeId, asSeq, STREAM_START } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent } from "../engines/engine.ts";
import { answered, delta, started } from "../testing/drafts.ts";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld, textOf, type World } from "../testing/world.ts";

/* What is referenced, not how large the heap is: that says little. */

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const INPUT = "x".repeat(1_000_000);

/** The places where a request has been in memory. */
class Sightings {
  readonly #seen: { readonly place: string; readonly ref: WeakRef<object> }[] = [];

  add(place: string, value: object): void {
    this.#seen.push({ place, ref: new WeakRef(value) });
  }

  get places(): string[] {
    return this.#seen.map(({ place }) => place);
  }

  /** Those where it still is. A weak reference is strong until the turn of the event loop in which it was made is over. */
  async held(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    return this.#seen.filter(({ ref }) => ref.deref() !== undefined).map(({ place }) => place);
  }
}

function watchReads({ log }: World, sightings: Sightings): GenerationLog {
  const seen = (event: StoredEvent | undefined) => {
    if (event) sightings.add("read from the log", event.payload.buffer);
    return event;
  };
  const readLast = async (ref: GenerationRef) => seen(await log.reader.readLast(ref));
  return { ...log, reader: { ...log.reader, readLast } };
}

/** A job as the puller makes them, and whether it is parked. */
async function createJob({ log }: World, ref: GenerationRef, sightings: Sightings) {
  const { promise: parked, resolve: park } = Promise.withResolvers<void>();
  const [stored] = await log.leader.readTail(ref, STREAM_START, 1);
  let payload: Uint8Array | undefined = Uint8Array.from(stored!.payload);
  let read = () => payload!;
  sightings.add("job", payload.buffer);
  const job = {
    park,
    holdPayloadAt(from: () => Uint8Array) {
      payload = undefined;
      read = from;
      Object.defineProperty(this, "payload", { get: from });
    },
    payload,
  } satisfies Partial<Job>;
  return { job, parked, payload: () => read() };
}

test("a request is in memory once while its generation waits for a tool's result", async () => {
  await using world = await openWorld();
  const sightings = new Sightings();
  const lengths: number[] = [];
  const engine = createFakeEngine(async function* (request, { turns }) {
    sightings.add("parsed", request);
    lengths.push(request.input.length);
    if (turns.length === 0) {
      yield { type: "text", text: "x".repeat(10_000) };
      yield { type: "tool_call", callId: "call", name: "look_up", arguments: "{}" };
    }
    yield { type: "finish", reason: turns.length === 0 ? "tool_calls" : "stop" };
  });
  const ref = await world.submit({ request: { input: INPUT } });
  const { job, parked, payload } = await createJob(world, ref, sightings);
  const run = world.run(ref, engine, { log: watchReads(world, sightings), job: { ...job } });
  Object.assign(job, { payload: undefined });
  await parked;

  expect(sightings.places).toEqual(["job", "read from the log", "parsed"]);
  expect(await sightings.held()).toEqual([]);
  expect(payload().length).toBeGreaterThan(INPUT.length);
  expect(payload().buffer.byteLength).toBeLessThan(INPUT.length * 1.1);

  await world.append(ref, answered("call"));
  expect(await run).toBe("completed");
  expect(lengths).toEqual([INPUT.length, INPUT.length]);
});

test("a request is in memory once while readers hold up the engine", async () => {
  await using world = await openWorld();
  const sightings = new Sightings();
  const { promise: mayBegin, resolve: begin } = Promise.withResolvers<void>();
  const say = async function* (): AsyncGenerator<EngineEvent> {
    await mayBegin;
    for (let i = 0; i < 3; i++) yield { type: "text", text: "x" };
    yield { type: "finish", reason: "stop" };
  };
  const engine = createFakeEngine((request) => {
    sightings.add("parsed", request);
    return say();
  });
  const ref = await world.submit({ request: { input: INPUT }, policy: { pace: { max_lead_tokens: 1 } } });
  const { job, payload } = await createJob(world, ref, sightings);
  const run = world.run(ref, engine, { log: watchReads(world, sightings), job: { ...job } });
  Object.assign(job, { payload: undefined });
  await world.until(ref, (events) => events.length === 2);
  const node = parseNodeId("node-1");
  const announce = (readers: number) =>
    publishPresence(world.log.publish, { ref, node }, { readers, seq: asSeq(1) });
  await announce(1);
  begin();
  await world.until(ref, (events) => textOf(events) === "xx");

  expect(await sightings.held()).toEqual([]);
  expect(payload().length).toBeGreaterThan(INPUT.length);

  await announce(0);
  expect(await run).toBe("completed");
});

test("a log that was planned for once more is held by nothing but the run of the last plan", async () => {
  await using world = await openWorld();
  const sightings = new Sightings();
  const engine = createFakeEngine(async function* (_request, { turns }) {
    if (turns.length === 0) yield { type: "tool_call", callId: "call", name: "look_up", arguments: "{}" };
    yield { type: "finish", reason: turns.length === 0 ? "tool_calls" : "stop" };
  });
  const ref = await world.submit({ request: { input: INPUT }, history: [started(1)] });
  const { job, parked } = await createJob(world, ref, sightings);
  const { reader } = world.log;
  let reads = 0;
  const readLog = async () => {
    const snapshot = await reader.readLog(ref);
    // A worker that is thought dead appends an event that the plan does not know.
    if (reads++ === 0) await world.append(ref, delta("late"));
    return snapshot;
  };
  const log = { ...world.log, reader: { ...reader, readLog } };
  const watched = {
    ...job,
    holdPayloadAt(from: () => Uint8Array) {
      sightings.add(`checkpoint ${sightings.places.length}`, from().buffer);
      job.holdPayloadAt.call(this, from);
    },
  };
  const run = world.run(ref, engine, { log, job: { ...watched } });
  for (const one of [job, watched]) Object.assign(one, { payload: undefined });
  await parked;

  expect(sightings.places).toEqual(["job", "checkpoint 1", "checkpoint 2"]);
  expect(await sightings.held()).toEqual(["checkpoint 2"]);

  await world.append(ref, answered("call"));
  expect(await run).toBe("completed");
});
