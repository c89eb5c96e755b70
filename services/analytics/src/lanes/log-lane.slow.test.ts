import { randomBytes } from "node:crypto";
import {
  asSeq,
  createGenerationId,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  parseTenantId,
} from "@reprise/protocol";
import { createSeededRandom, type SeededRandom } from "@reprise/testkit";
import { expect, test } from "vitest";
import { CALLS_OF_LANE } from "../testing/open-facts.ts";
import { type LaneWorld, openLaneWorld, type RunningLane } from "../testing/lane-world.ts";

const TENANTS = ["acme", "globex"].map(parseTenantId);

const newRef = (i: number): GenerationRef => ({
  tenant: TENANTS[i % TENANTS.length] ?? parseTenantId("acme"),
  generation: createGenerationId(randomBytes(17), 1),
});

/** A whole log of some length. */
function draftsOf(ref: GenerationRef, deltas: number): EventDraft[] {
  const drafts: unknown[] = [
    {
      type: "generation.requested",
      ...ref,
      created_at: "2026-11-23T12:00:00.000Z",
      request: { model: "sim", input: "Go.", metadata: { plan: "gold" } },
      policy: {},
    },
    { type: "generation.started", attempt: 1, worker: "worker-1", model: "sim", input_tokens: 2 },
    ...Array.from({ length: deltas }, (_, i) => ({
      type: "output.delta",
      text: `word ${i}`,
      tokens: 1 + (i % 3),
    })),
    { type: "output.rewind", to_seq: 4, reason: "timeout" },
    { type: "generation.started", attempt: 2, worker: "worker-2", model: "sim", reason: "timeout" },
    { type: "output.delta", text: "again" },
    {
      type: "generation.completed",
      finish_reason: "stop",
      usage: { input_tokens: 2, output_tokens: 2 * deltas },
    },
  ];
  return drafts as EventDraft[];
}

/** Stores the logs of some generations, their events among each other's. */
async function writeLogs(world: LaneWorld, count: number, random: SeededRandom): Promise<GenerationRef[]> {
  const logs = Array.from({ length: count }, (_, i) => {
    const ref = newRef(i);
    return { ref, drafts: draftsOf(ref, random.integer(3, 10)), next: 0 };
  });
  for (let open = logs; open.length > 0; open = logs.filter(({ drafts, next }) => next < drafts.length)) {
    const log = random.pick(open);
    const draft = log?.drafts[log.next];
    if (log && draft) await world.append(log.ref, encodeEvent(asSeq(log.next++), draft));
  }
  return logs.map(({ ref }) => ref);
}

async function expectRowsOf(world: LaneWorld, refs: readonly GenerationRef[]): Promise<void> {
  const expected = await Promise.all(refs.map((ref) => world.foldStored(ref)));
  const rows = await world.rows();
  const byName = (a: { generation: string }, b: { generation: string }) =>
    a.generation.localeCompare(b.generation);
  expect(rows.toSorted(byName)).toEqual(expected.flatMap((row) => row ?? []).toSorted(byName));
}

const rowsOf = ({ batches }: RunningLane) => batches.reduce((sum, { rows }) => sum + rows.length, 0);

test("restarts at any place change no row", async () => {
  await using world = await openLaneWorld();
  const refs = await writeLogs(world, 6, createSeededRandom(2));
  // A lane that is stopped may have made its last commit without having heard so.
  const isWhole = async () => (await world.rows()).length >= 6;
  for (let runs = 0; !(await isWhole()); runs++) {
    expect(runs).toBeLessThan(100);
    await using lane = world.start({ limits: { maxMessages: 5, maxAgeMs: 10, maxBytes: 1_000_000 } });
    await expect.poll(async () => lane.batches.length > 0 || (await isWhole())).toBe(true);
    await lane.stop();
  }
  await expectRowsOf(world, refs);
});

test.each(["before", "after"] as const)(
  "a process that dies at any call of its store, %s it has happened, changes no row",
  async (when) => {
    await using world = await openLaneWorld();
    const refs: GenerationRef[] = [];
    const random = createSeededRandom(3);
    for (let call = 0; call < CALLS_OF_LANE; call++) {
      refs.push(...(await writeLogs(world, 1, random)));
      await using lane = world.start({ facts: world.dying(call, when) });
      // It has died, or has folded the new log before that call.
      await expect.poll(() => lane.errors.length > 0 || rowsOf(lane) > 0).toBe(true);
      await lane.stop();
    }
    await using last = world.start();
    await expect.poll(async () => (await world.rows()).length).toBe(refs.length);
    await last.stop();
    await expectRowsOf(world, refs);
  },
);

test("of two processes that fold one stream one is fenced, and no row is there twice", async () => {
  await using world = await openLaneWorld();
  const refs = await writeLogs(world, 5, createSeededRandom(4));
  const limits = { maxMessages: 7, maxAgeMs: 10, maxBytes: 1_000_000 };
  await using one = world.start({ limits });
  await using other = world.start({ limits: { ...limits, maxMessages: 5 } });
  const ends: string[] = [];
  for (const lane of [one, other]) void lane.done.then((end) => ends.push(end));
  // One that begins where the other has ended meets it at what comes next.
  const random = createSeededRandom(5);
  while (ends.length === 0) refs.push(...(await writeLogs(world, 1, random)));
  expect(ends).toEqual(["fenced"]);
  refs.push(...(await writeLogs(world, 5, random)));
  await expect.poll(async () => (await world.rows()).length).toBe(refs.length);
  await expectRowsOf(world, refs);
});
