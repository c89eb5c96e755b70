import { publishPresence } from "@reprise/jobs";
import { type KnownEvent, parseNodeId, asSeq } from "@reprise/protocol";
import { expect, test } from "vitest";
import { createFakeEngine } from "../testing/fake-engines.ts";
import { openWorld } from "../testing/world.ts";

const TOKENS = 60;
const LEAD = 10;
const node = parseNodeId("node-1");
const paced = { policy: { pace: { max_lead_tokens: LEAD } } };

/** Yields tokens as fast as it is asked for them, from the moment at which it may begin, and counts. */
function createFountain() {
  const mayBegin = Promise.withResolvers<void>();
  const asked = { tokens: 0 };
  const engine = createFakeEngine(async function* () {
    await mayBegin.promise;
    for (; asked.tokens < TOKENS; asked.tokens++) yield { type: "text", text: "x" };
    yield { type: "finish", reason: "stop" };
  });
  return { engine, asked, begin: mayBegin.resolve };
}

const textLength = (events: readonly KnownEvent[]) =>
  events.reduce((sum, event) => sum + (event.type === "output.delta" ? event.text.length : 0), 0);

test("an engine stays within the lead over the furthest reader, and ends once that has caught up", async () => {
  await using world = await openWorld();
  const { engine, asked, begin } = createFountain();
  const ref = await world.submit(paced);
  await world.startWorker(engine);
  await world.until(ref, (events) => events.length === 2);
  const say = (readers: number, seq: number) =>
    publishPresence(world.log.publish, { ref, node }, { readers, seq: asSeq(seq) });
  await say(1, 1);
  begin();
  // One token more than the lead is requested, and then none: the reader continues only after the log holds them all.
  for (let read = 0; read + LEAD + 1 < TOKENS;) {
    const events = await world.until(ref, (all) => textLength(all) === read + LEAD + 1);
    expect(asked.tokens).toBeLessThanOrEqual(read + LEAD + 1);
    await say(1, events.length - 1);
    read = textLength(events);
  }
  expect((await world.untilEnded(ref)).at(-1)).toMatchObject({ type: "generation.completed" });
});

test("an engine is held up neither without readers nor by a reader that has left", async () => {
  await using world = await openWorld();
  const { engine, begin } = createFountain();
  const ref = await world.submit(paced);
  await world.startWorker(engine);
  await world.until(ref, (events) => events.length === 2);
  await publishPresence(world.log.publish, { ref, node }, { readers: 1, seq: asSeq(1) });
  begin();
  await world.until(ref, (events) => textLength(events) === LEAD + 1);
  await publishPresence(world.log.publish, { ref, node }, { readers: 0, seq: asSeq(1) });
  expect(textLength(await world.untilEnded(ref))).toBe(TOKENS);
});

test("a generation that is held up can be cancelled", async () => {
  await using world = await openWorld();
  const { engine, begin } = createFountain();
  const ref = await world.submit(paced);
  const worker = await world.startWorker(engine);
  await world.until(ref, (events) => events.length === 2);
  await publishPresence(world.log.publish, { ref, node }, { readers: 1, seq: asSeq(1) });
  begin();
  await world.until(ref, (events) => textLength(events) === LEAD + 1);
  await world.append(ref, {
    type: "generation.cancelled",
    reason: "asked",
    usage: { input_tokens: null, output_tokens: 0 },
  });
  await expect.poll(() => world.queuedJobs()).toBe(0);
  await worker.close();
  expect(textLength(await world.read(ref))).toBe(LEAD + 1);
});
