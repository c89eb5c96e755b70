import { isDeepStrictEqual } from "node:util";

import {
  attemptRow,
  clientRow,
  connectionRow,
  type DeliveryRow,
  encodeConnection,
  type GenerationDelivery,
} from "@reprise/facts";
import {
  asSeq,
  type AttemptRecord,
  type DeliveryMark,
  type GenerationRef,
  OPS_STREAM,
  parseNodeId,
  RepriseError,
  STREAM_START,
  type TimingsRecord,
} from "@reprise/protocol";
import { recordSpans } from "@reprise/runtime/telemetry/testing";
import { createRef, createSeededRandom, PATIENCE_MS, type SeededRandom } from "@reprise/testkit";
import { expect, test } from "vitest";
import { recountDelivery } from "../facts/delivery-rows.fixture.ts";
import { CALLS_OF_LANE } from "../testing/open-facts.ts";
import { generationRowOf } from "../testing/generation-row.ts";
import { type LaneWorld, openLaneWorld, type RunningOps } from "../testing/lane-world.ts";

const AT = "2026-11-23T12:00:00.000Z";
const NODE = parseNodeId("node");
const SMALL = { maxMessages: 3, maxAgeMs: 10, maxBytes: 1_000_000 };
const HOURS_49_MS = 49 * 3_600_000;

function markOf(reader: string, seq: number, mark: Partial<DeliveryMark> = {}): DeliveryMark {
  const common = { protocol: "sse", address: "public", by: "ann", started_at: AT } as const;
  return { reader, ...common, from_seq: asSeq(1), seq: asSeq(seq), known_seq: asSeq(0), ...mark };
}

/** Records how one generation is read, among others' records. @returns the rows that this comes to */
async function recordReading(world: LaneWorld, ref: GenerationRef, random: SeededRandom) {
  const rows: DeliveryRow[] = [];
  const place = { ...ref, storedAtUs: 0 };
  const readers = Array.from({ length: random.integer(1, 3) }, () => `rdr_${random.integer(0, 1e9)}`);
  const delivered = (marks: readonly DeliveryMark[]) =>
    world.record(ref, { kind: "delivered", at: AT, node: NODE, readers: [...marks] });
  for (const seq of [2, 5]) await delivered(readers.map((reader) => markOf(reader, seq)));
  const attempt: AttemptRecord = {
    kind: "attempt",
    at: AT,
    attempt: 1,
    model: "sim",
    engine_first_ms: 30,
    append_ms: 2,
  };
  const timings: TimingsRecord = {
    kind: "timings",
    at: AT,
    by: "ann",
    timings: { round_trip_ms: 40, reconnects: 1 },
  };
  await world.record(ref, attempt);
  await world.record(ref, timings);
  rows.push(attemptRow(place, attempt), clientRow(place, timings));
  for (const reader of readers) {
    const last = markOf(reader, 9, { ended_at: AT, finished: random.chance(0.5) });
    await delivered([last]);
    rows.push(connectionRow(place, last));
  }
  return rows;
}

/** Rows of generations that deliveries can be read with. */
async function commitGenerations(world: LaneWorld, refs: readonly GenerationRef[]): Promise<void> {
  const facts = world.facts.lane("GENERATIONS_0");
  const last = await facts.last();
  const start = { after: STREAM_START, sinceUs: 0 };
  await facts.restore({ epoch: last?.epoch ?? 0, created: last?.created ?? "c", ...start });
  const lane = { stream: "GENERATIONS_0", epoch: 0, created: "c", last_at: 0, last: STREAM_START };
  const draft = { lane: { ...lane, last_seq_stored: STREAM_START }, changed: [], closed: [] };
  await facts.commit({ ...draft, rows: refs.map((ref) => generationRowOf(ref)) }, () => []);
}

async function deliveriesOf({
  rowSource,
}: LaneWorld): Promise<ReadonlyMap<string, GenerationDelivery | undefined>> {
  const query = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, withDelivery: true };
  const rows = await rowSource.page({ ...query, limit: 1_000 });
  return new Map(rows.map(({ generation, delivery }) => [generation, delivery]));
}

async function expectDeliveries(
  world: LaneWorld,
  rows: readonly DeliveryRow[],
  refs: readonly GenerationRef[],
) {
  await commitGenerations(world, refs);
  const expected = refs.map((ref) => [ref.generation, recountDelivery(ref, rows)] as const);
  expect(await deliveriesOf(world)).toEqual(new Map(expected));
}

const rowsOf = ({ batches }: RunningOps) => batches.reduce((sum, { rows }) => sum + rows.length, 0);

test("restarts at any place change nothing: each connection, attempt and report is one row", async () => {
  await using world = await openLaneWorld();
  const random = createSeededRandom(1);
  const refs = Array.from({ length: 5 }, () => createRef());
  const rows: DeliveryRow[] = [];
  for (const ref of refs) rows.push(...(await recordReading(world, ref, random)));
  await commitGenerations(world, refs);
  const expected = new Map(refs.map((ref) => [ref.generation, recountDelivery(ref, rows)]));
  // A lane that is stopped may have made its last commit without having heard so.
  const isWhole = async () => isDeepStrictEqual(await deliveriesOf(world), expected);
  for (let runs = 0; !(await isWhole()); runs++) {
    expect(runs).toBeLessThan(100);
    await using lane = world.startOps({ limits: SMALL });
    await expect.poll(async () => lane.batches.length > 0 || (await isWhole())).toBe(true);
    await lane.stop();
  }
});

test.each(["before", "after"] as const)(
  "a process that dies at any call of its store, %s it has happened, changes no row",
  async (when) => {
    await using world = await openLaneWorld();
    const random = createSeededRandom(2);
    const rows: DeliveryRow[] = [];
    const refs: GenerationRef[] = [];
    for (let call = 0; call < CALLS_OF_LANE; call += 3) {
      const ref = createRef();
      refs.push(ref);
      rows.push(...(await recordReading(world, ref, random)));
      await using lane = world.startOps({ facts: world.dying(call, when), limits: SMALL });
      await expect.poll(() => lane.errors.length > 0 || rowsOf(lane) > 0).toBe(true);
      await lane.stop();
    }
    await commitGenerations(world, refs);
    await using _ = world.startOps();
    const expected = new Map(refs.map((ref) => [ref.generation, recountDelivery(ref, rows)]));
    await expect.poll(() => deliveriesOf(world)).toEqual(expected);
  },
);

test("what OPS has lost and stores again is there once, as it is stored then", async () => {
  await using world = await openLaneWorld();
  const random = createSeededRandom(3);
  const refs = [createRef(), createRef(), createRef()] as const;
  const first = await recordReading(world, refs[0], random);
  await using lane = world.startOps();
  await expect.poll(() => rowsOf(lane)).toBe(first.length);
  await world.server.snapshotStore();
  const lost = await recordReading(world, refs[1], random);
  await expect.poll(() => rowsOf(lane)).toBe(first.length + lost.length);
  await lane.stop();
  await world.server.restoreStore();
  const again = await recordReading(world, refs[2], random);
  await using next = world.startOps();
  await expect.poll(() => rowsOf(next)).toBe(again.length);
  await next.stop();
  await expectDeliveries(world, [...first, ...again], refs);
});

test("a last mark that is stored again counts once, in one batch, in another one, and after a restart", async () => {
  await using world = await openLaneWorld();
  const refs = [createRef(), createRef(), createRef()] as const;
  await commitGenerations(world, refs);
  const rows: DeliveryRow[] = [];
  const again = new Map<GenerationRef, () => Promise<void>>();
  for (const [i, ref] of refs.entries()) {
    const mark = markOf(`rdr_${i}`, 9, { ended_at: AT, finished: false, known_seq: asSeq(5) });
    rows.push(connectionRow({ ...ref, storedAtUs: 0 }, mark));
    const store = () => world.record(ref, { kind: "delivered", at: AT, node: NODE, readers: [mark] });
    again.set(ref, store);
    await store();
  }
  await again.get(refs[0])?.();
  await using lane = world.startOps({ limits: { ...SMALL, maxMessages: 4 } });
  await expect.poll(() => rowsOf(lane)).toBe(4);
  await again.get(refs[1])?.();
  await expect.poll(() => rowsOf(lane)).toBe(5);
  await lane.stop();
  await again.get(refs[2])?.();
  await using next = world.startOps();
  await expect.poll(() => rowsOf(next)).toBe(1);
  const expected = refs.map((ref) => [ref.generation, recountDelivery(ref, rows)] as const);
  expect(await deliveriesOf(world)).toEqual(new Map(expected));
});

test("a connection whose node has died is a row in the end, one that runs is none", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  const facts = world.facts.deliveries(OPS_STREAM);
  await facts.last();
  const aged = { ...ref, storedAtUs: (Date.now() - HOURS_49_MS) * 1_000 };
  const changed = [["rdr_dead", encodeConnection(aged, markOf("rdr_dead", 4))]] as const;
  const { created } = await world.broker.main
    .request(`$JS.API.STREAM.INFO.${OPS_STREAM}`, undefined, { timeout: PATIENCE_MS })
    .then((answer) => answer.json<{ created: string }>());
  const lane = { stream: OPS_STREAM, epoch: 0, created, last_at: 0, last: STREAM_START };
  await facts.commit(
    { lane: { ...lane, last_seq_stored: STREAM_START }, rows: [], changed, closed: [] },
    () => changed,
  );
  await using running = world.startOps();
  const readers = [markOf("rdr_alive", 2)];
  await world.record(ref, { kind: "delivered", at: AT, node: NODE, readers });
  await expect.poll(() => running.batches.at(-1)?.open).toBe(1);
  await commitGenerations(world, [ref]);
  expect((await deliveriesOf(world)).get(ref.generation)).toMatchObject({
    streams: 1,
    disconnects: 1,
    events: 4,
  });
});

test("each commit is a span with its counts, and one of which a try failed has the failure's code", async () => {
  await using world = await openLaneWorld();
  const tracing = recordSpans();
  const ref = createRef();
  const facts = world.facts.deliveries(OPS_STREAM);
  let tries = 0;
  const failingOnce: typeof facts = {
    position: undefined,
    last: () => facts.last(),
    all: () => facts.all(),
    restore: (start) => facts.restore(start),
    async commit(draft, folds) {
      if (tries++ === 0) throw new RepriseError("archive_unavailable", "Not now.");
      return facts.commit(draft, folds);
    },
  };
  const stores = { ...world.facts, deliveries: () => failingOnce };
  const last = [markOf("rdr_1", 9, { ended_at: AT }), markOf("rdr_2", 3)];
  await world.record(ref, { kind: "delivered", at: AT, node: NODE, readers: last });
  await using lane = world.startOps({ facts: stores, tracing });
  await expect.poll(() => rowsOf(lane)).toBe(1);
  await lane.stop();
  expect(tracing.spans[0]).toMatchObject({
    name: "commit analytics",
    error: "archive_unavailable",
    attributes: {
      "messaging.destination.name": OPS_STREAM,
      "messaging.batch.message_count": 1,
      "reprise.rows": 1,
      "reprise.open": 1,
      "reprise.result": "committed",
    },
  });
});

test("records of a process that is broken into keep no other's row out", async () => {
  await using world = await openLaneWorld();
  const [bad, good] = [createRef(), createRef()];
  await using lane = world.startOps();
  const forged = markOf("rdr_forged", 3, { started_at: "then", ended_at: "now", gaps: "AQID" });
  await world.record(bad, { kind: "delivered", at: AT, node: NODE, readers: [forged] });
  const odd = `ops.acme.delivered.${good.generation}.more`;
  await world.broker.main.request(odd, "{}", { timeout: PATIENCE_MS }).catch(() => {});
  const rows = await recordReading(world, good, createSeededRandom(4));
  await expect.poll(() => rowsOf(lane)).toBe(rows.length + 1);
  await commitGenerations(world, [bad, good]);
  const found = await deliveriesOf(world);
  expect(found.get(bad.generation)).toMatchObject({ streams: 1, gaps: null });
  expect(found.get(good.generation)).toEqual(recountDelivery(good, rows));
});
