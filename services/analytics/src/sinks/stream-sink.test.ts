import { createGenerationLog } from "@reprise/stream";
import { readStreamMessages } from "@reprise/broker";
import { GenerationFold, toUsageEvent } from "@reprise/facts";
import { asSeq, encodeEvent, STREAM_START, USAGE_STREAM } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";
import { createStreamSink } from "./stream-sink.ts";

function newEvent(tenant: string) {
  const ref = createRef(tenant);
  const fold = GenerationFold.begin(ref);
  for (const [seq, draft] of [requested(ref), started(), delta("a"), completed()].entries())
    fold.feed(encodeEvent(asSeq(seq), draft), 1_000 * seq);
  return toUsageEvent(fold.toRow(), { source: "/test" });
}

async function storedIn({ broker }: LaneWorld) {
  const from = { afterStreamSeq: STREAM_START, maxMessages: 100, maxBytes: 1_000_000 };
  const stored = await readStreamMessages(broker.reads, USAGE_STREAM, from);
  return stored.map(({ subject, payload }) => [subject, JSON.parse(Buffer.from(payload).toString())]);
}

test("each event is stored once under its tenant, in its order, however often it is delivered", async () => {
  await using world = await openLaneWorld();
  const sink = createStreamSink(createGenerationLog(world.broker).publish);
  const events = [newEvent("acme"), newEvent("globex"), newEvent("acme")];
  const { signal } = new AbortController();
  // It has died after the second one, and begins again.
  await sink.deliver({ id: "1", events: events.slice(0, 2) }, signal);
  await sink.deliver({ id: "1", events }, signal);
  await sink.deliver({ id: "1", events }, signal);
  expect(await storedIn(world)).toEqual(events.map((event) => [`usage.${event.subject}`, event]));
});

test("what the broker has not taken is an error, and nothing after it is told", async () => {
  await using world = await openLaneWorld();
  const { publish } = createGenerationLog(world.broker);
  let calls = 0;
  const sink = createStreamSink(async (subject, payload, options) =>
    ++calls === 2 ? { kind: "unavailable", reason: "timeout" } : publish(subject, payload, options),
  );
  const events = [newEvent("acme"), newEvent("acme"), newEvent("acme")];
  const delivery = sink.deliver({ id: "1", events }, new AbortController().signal);
  await expect(delivery).rejects.toMatchObject({ code: "broker_unavailable" });
  expect(await storedIn(world)).toEqual([["usage.acme", events[0]]]);
});
