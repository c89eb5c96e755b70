import { type KnownEvent, OPTIONAL_EVENTS } from "@reprise/protocol";
import { expect, test } from "vitest";
import type { EngineEvent } from "../../engines/engine.ts";
import { createSimEngine } from "../../engines/sim/sim-engine.ts";
import { createFakeEngine } from "../../testing/fake-engines.ts";
import { openWorld, transcriptOf } from "../../testing/world.ts";

type AnnotationPlace = Extract<KnownEvent, { type: "output.annotation" }>;

const URL = "https://example.com/";
const SAYS: EngineEvent[] = [
  { type: "summary", text: "Thinks", part: 0, isReasoning: true },
  { type: "sealed", encrypted: "c2VhbGVk", id: "rs_1" },
  { type: "text", text: "It is 👍 " },
  { type: "text", text: "so." },
  { type: "annotation", kind: "url", url: URL, title: "Example", from: 6, to: 10 },
  { type: "annotation", kind: "file", file: "file_1", name: "a.pdf" },
  { type: "refusal", text: "I can't.", tokens: 3 },
  { type: "finish", reason: "content_filter" },
];

const engine = () =>
  createFakeEngine(async function* () {
    yield* SAYS;
  });

test("what a model says beside its text is in the log where its creator's node knows the events, annotations after the text that they are of", async () => {
  await using world = await openWorld();
  await world.startWorker(engine());
  const events = await world.untilEnded(await world.submit({ events: OPTIONAL_EVENTS }));
  const source = events.find(({ type }) => type === "output.annotation");
  const texts = events.filter(({ type }) => type === "output.delta");
  expect(events.slice(2, 4)).toEqual([
    { seq: 2, type: "reasoning.summary.delta", text: "Thinks", part: 0, tokens: 1 },
    { seq: 3, type: "reasoning.sealed", encrypted: "c2VhbGVk", id: "rs_1" },
  ]);
  expect(source).toMatchObject({ kind: "url", url: URL, title: "Example", from_seq: texts[0]?.seq });
  expect(events.slice(-4).map(({ type }) => type)).toEqual([
    "refusal.delta",
    "output.annotation",
    "output.annotation",
    "generation.completed",
  ]);
  const { text, refusal, annotations, usage } = transcriptOf(events);
  expect([text, refusal, usage.output_tokens]).toEqual(["It is 👍 so.", "I can't.", 6]);
  expect(annotations).toHaveLength(2);
  const { from_seq: from = 0, to_seq: to = 0, from_offset, to_offset } = source as AnnotationPlace;
  const joined = texts.map((event) =>
    event.seq >= from && event.seq <= to && "text" in event ? event.text : "",
  );
  expect(joined.join("").slice(from_offset, to_offset)).toBe("👍 so");
});

test("a creator that knows none of them gets what it always got: a refusal as text, a summary that its engine gives as reasoning too as that, and nothing of the rest", async () => {
  await using world = await openWorld();
  await world.startWorker(engine());
  const events = await world.untilEnded(await world.submit());
  const [thought, ...said] = events.slice(2, -1);
  expect(thought).toEqual({ seq: 2, type: "reasoning.delta", text: "Thinks" });
  expect(said.filter(({ type }) => type !== "output.delta")).toEqual([]);
  expect(transcriptOf(events)).toMatchObject({ text: "It is 👍 so.I can't.", refusal: "", annotations: [] });
  expect(events.at(-1)).toMatchObject({ finish_reason: "content_filter", usage: { output_tokens: 6 } });
});

test("a worker's loss after a refusal restarts the turn: no engine continues after one", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine());
  const says = [{ type: "refusal", text: "I can't." }];
  const history = [
    { type: "generation.started", attempt: 1, worker: "w1", model: "fake" } as const,
    { type: "refusal.delta", text: "I can't." } as const,
  ];
  const ref = await world.submit({ events: OPTIONAL_EVENTS, history, options: { says, text: "Sorry." } });
  const events = await world.untilEnded(ref);
  expect(events.find(({ type }) => type === "output.rewind")).toMatchObject({ to_seq: 0 });
  expect(transcriptOf(events)).toMatchObject({ text: "Sorry.", refusal: "I can't." });
});

test("a batch generation offers its slot after no reasoning that its engine keeps to itself", async () => {
  await using world = await openWorld();
  const offers: unknown[] = [];
  const ref = await world.submit({ events: OPTIONAL_EVENTS, request: { priority: "batch" } });
  const sealed = createFakeEngine(
    async function* () {
      yield { type: "sealed", encrypted: "c2VhbGVk" };
      yield { type: "text", text: "So." };
      yield { type: "finish", reason: "stop" };
    },
    { canContinue: (_request, { reasoned }) => !reasoned },
  );
  const job = { priority: "batch", setYield: (offer: unknown) => void offers.push(offer) } as const;
  expect(await world.run(ref, sealed, { job })).toBe("completed");
  expect(offers.filter((offer) => offer !== undefined)).toEqual([]);
  expect(offers.length).toBeGreaterThan(0);
});

test("the simulator says what its options list before its text", async () => {
  await using world = await openWorld();
  await world.startWorker(createSimEngine());
  const says = [
    { type: "reasoning", text: "Hm." },
    { type: "summary", text: "Thinks." },
    { type: "sealed", encrypted: "x" },
    { type: "refusal", text: "No." },
    { type: "annotation", url: URL, from: 0, to: 5 },
  ];
  const ref = await world.submit({ events: OPTIONAL_EVENTS, options: { says, text: "Hello there." } });
  const events = await world.untilEnded(ref);
  const types = events.slice(2).map(({ type }) => type);
  // How many events the text becomes depends on how fast the broker acknowledges.
  expect(types.filter((type, i) => type !== types[i - 1])).toEqual([
    "reasoning.delta",
    "reasoning.summary.delta",
    "reasoning.sealed",
    "refusal.delta",
    "output.delta",
    "output.annotation",
    "generation.completed",
  ]);
  expect(events.at(-2)).toMatchObject({ from_offset: 0, to_offset: 5 });
});
