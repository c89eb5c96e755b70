import { toUsageEvent, type UsageEvent } from "@reprise/facts";
import { history, recount } from "@reprise/facts/testing";
import { type GenerationRef, generationsStream } from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { keepErrors } from "../testing/keep-errors.ts";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";
import { feedUsage } from "./usage-feed.ts";
import type { UsageSink } from "./usage-sink.ts";

const STREAM = generationsStream(0);
const SEED = 13;
/** Calls of its store that a process makes for a generation, and some more. */
const CALLS = 24;
const SOURCE = "/test";

/** A receiver that stores all events it gets, even if its answer is lost. */
function createReceiver() {
  const received: UsageEvent[] = [];
  let deaths: "before" | "after" | undefined;
  const sink: UsageSink = {
    name: "test",
    async deliver({ events }) {
      if (deaths === "before") throw new Error("The receiver is away.");
      received.push(...events);
      if (deaths === "after") throw new Error("The receiver's answer is lost.");
    },
  };
  return { received, sink, fail: (when: typeof deaths) => (deaths = when) };
}

/** One life of the process: folds and delivers until it is ended, or has died at a call of its store. */
function live(world: LaneWorld, sink: UsageSink, facts = world.facts) {
  const stop = new AbortController();
  const lane = world.start({ facts });
  const errors: unknown[] = [];
  const feed = feedUsage(
    {
      outbox: facts.outbox(sink.name, STREAM),
      sink,
      usageOf: () => ({ source: SOURCE }),
      onDelivered: () => {},
      onError: keepErrors(errors),
      idleMs: 5,
    },
    stop.signal,
  );
  return {
    hasDied: () => errors.length > 0 || lane.errors.length > 0,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all([lane.stop(), feed]);
    },
  };
}

test.each(["before", "after"] as const)(
  "usage of any history is delivered, with what was produced and kept, by processes that die at each call of store and receiver, %s it has happened",
  async (when) => {
    await using world = await openLaneWorld();
    const histories = fc.sample(history, { numRuns: CALLS, seed: SEED });
    const receiver = createReceiver();
    const expected = new Map<string, { ref: GenerationRef; counted: ReturnType<typeof recount> }>();
    for (const [call, log] of histories.entries()) {
      const ref = createRef();
      expected.set(ref.generation, { ref, counted: recount(log) });
      for (const { payload } of log) await world.append(ref, payload);
      receiver.fail(call % 4 === 3 ? when : undefined);
      const before = receiver.received.length;
      await using process = live(world, receiver.sink, world.dying(call, when));
      await expect.poll(() => process.hasDied() || receiver.received.length > before).toBe(true);
    }
    receiver.fail(undefined);
    await using _ = live(world, receiver.sink);
    const ids = () => new Set(receiver.received.map(({ id }) => id));
    await expect.poll(ids).toEqual(new Set(expected.keys()));
    for (const event of receiver.received) {
      const { ref, counted } = expected.get(event.id)!;
      const row = await world.foldStored(ref);
      // However often it comes, it is the same: of the log as the stream has it.
      expect(event).toEqual(row && toUsageEvent(row, { source: SOURCE }));
      expect(event.data).toMatchObject({
        output_tokens: counted.output_tokens,
        output_tokens_kept: counted.output_tokens_kept,
        input_tokens: counted.input_tokens,
        attempts: counted.attempts,
      });
    }
    const rows = await world.rows();
    expect(rows.map(({ generation }) => generation).toSorted()).toEqual([...expected.keys()].toSorted());
  },
);
