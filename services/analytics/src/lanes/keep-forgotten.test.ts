import {
  asSeq,
  encodeEvent,
  encodeOpsRecord,
  type EventDraft,
  type GenerationRef,
  opsSubject,
} from "@reprise/protocol";
import { createGenerationLog } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import { completed, createRef, delta, PATIENCE_MS, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { keepErrors } from "../testing/keep-errors.ts";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";
import { keepForgotten } from "./keep-forgotten.ts";

const STREAM = "GENERATIONS_0";

async function append(world: LaneWorld, ref: GenerationRef, fromSeq: number, drafts: readonly EventDraft[]) {
  for (const [i, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(fromSeq + i), draft));
}

const begin = (ref: GenerationRef) => [
  requested(ref, { metadata: { plan: "Ada Lovelace" } }),
  started(),
  delta("a"),
];

/** Appends the record of a finished erasure. */
async function recordErasure(world: LaneWorld, { tenant, generation }: GenerationRef): Promise<void> {
  const log = createGenerationLog(world.broker);
  const record = encodeOpsRecord({ kind: "erased", at: new Date().toISOString(), erasure: "era_1" });
  const options = { messageId: createWriterName(), timeoutMs: PATIENCE_MS };
  const { kind } = await log.publish(opsSubject("erased", tenant, generation), record, options);
  expect(kind).toBe("stored");
}

/** Forgets until it is stopped. */
function start(world: LaneWorld, againMs: number, skewMs = 60_000) {
  const stop = new AbortController();
  const errors: unknown[] = [];
  const done = keepForgotten(
    {
      facts: world.facts,
      rows: world.rowSource,
      connection: world.broker.reads,
      stream: STREAM,
      onForgotten: () => {},
      onError: keepErrors(errors),
      everyMs: 20,
      againMs,
      skewMs,
    },
    stop.signal,
  );
  return {
    errors,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
    },
  };
}

const metadataOf = async (world: LaneWorld, { generation }: GenerationRef) =>
  (await world.rows()).find((row) => row.generation === generation)?.metadata;
const placeOf = ({ facts }: LaneWorld) => facts.outbox("erasures", STREAM).place();

test("an erased generation's row keeps its numbers without metadata, whether it comes before the erasure or after", async () => {
  await using world = await openLaneWorld();
  const [before, after, other] = [createRef(), createRef(), createRef()];
  const lane = world.start();
  for (const ref of [before, after, other]) await append(world, ref, 0, begin(ref));
  for (const ref of [before, other]) await append(world, ref, 3, [completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(2);
  await lane.stop();
  // Appended while no lane reads: its row is committed after the erasure.
  await append(world, after, 3, [completed()]);
  for (const ref of [before, after]) await recordErasure(world, ref);

  await using forgetting = start(world, 0);
  await expect.poll(() => metadataOf(world, before)).toEqual({});
  expect(await placeOf(world)).toBe(0);
  await using _ = world.start();
  await expect.poll(() => metadataOf(world, after)).toEqual({});
  await expect.poll(() => placeOf(world)).toBe(2);
  expect(await metadataOf(world, other)).toEqual({ plan: "Ada Lovelace" });
  for (const ref of [before, after]) {
    const row = (await world.rows()).find(({ generation }) => generation === ref.generation);
    expect(row).toEqual({ ...(await world.foldStored(ref)), metadata: {} });
  }
  expect(forgetting.errors).toEqual([]);
});

test("an erasure is carried out again for a while, and a place beyond the end of OPS is none", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  await using lane = world.start();
  await append(world, ref, 0, [...begin(ref), completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(1);
  await recordErasure(world, ref);
  await world.facts.outbox("erasures", STREAM).advance(1_000);
  await using forgetting = start(world, 3_600_000);
  await expect.poll(() => metadataOf(world, ref)).toEqual({});
  await expect.poll(() => placeOf(world)).toBe(0);
  expect([...forgetting.errors, ...lane.errors]).toEqual([]);
});

test("after a stream that continues and on an erasure is done with once its lane has read what came later", async () => {
  await using world = await openLaneWorld();
  const [ref, later, unread] = [createRef(), createRef(), createRef()];
  const lane = world.start();
  await append(world, ref, 0, [...begin(ref), completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(1);
  await recordErasure(world, ref);
  await append(world, later, 0, [...begin(later), completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(2);
  await lane.stop();
  await append(world, unread, 0, begin(unread));
  await using forgetting = start(world, 0, 0);
  await expect.poll(() => placeOf(world)).toBeGreaterThan(0);
  expect(forgetting.errors).toEqual([]);
});
