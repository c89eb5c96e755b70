import type { DeliveredRow, GenerationRow } from "@reprise/facts";
import { OPS_STREAM, parseTenantId, STREAM_START } from "@reprise/protocol";
import { createRef, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { openFacts } from "../testing/open-facts.ts";
import { generationRowOf } from "../testing/generation-row.ts";
import { anyDelivery, recountDelivery } from "./delivery-rows.fixture.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00Z") * 1_000;
const ALL = { fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };

const rowOf = (tenant: string, metadata: Record<string, string>, atUs: number) =>
  generationRowOf(createRef(tenant), { atUs, metadata });

class Collected {
  readonly rows: DeliveredRow[] = [];
  add(row: DeliveredRow): void {
    this.rows.push(row);
  }
}

async function openRows(rows: readonly GenerationRow[]) {
  const opened = await openFacts();
  const facts = opened.facts.lane("GENERATIONS_0");
  await facts.last();
  const lane = {
    stream: "GENERATIONS_0",
    epoch: 1,
    created: "c",
    last: STREAM_START,
    last_seq_stored: STREAM_START,
    last_at: 0,
  };
  for (const row of rows) await facts.commit({ lane, rows: [row], changed: [], closed: [] }, () => []);
  const deliveries = opened.facts.deliveries(OPS_STREAM);
  return { source: opened.rows, deliveries, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

test("rows are found by tenant, time, model, status and metadata, as they were committed", async () => {
  const [a, b] = [createRef("acme").tenant, createRef("beta").tenant];
  const key = `it's a "key"/~$.x`;
  const rows = [
    rowOf(a, {}, NOON_US),
    rowOf(a, { [key]: "v" }, NOON_US + 1_000),
    rowOf(b, { [key]: "v" }, NOON_US + 2_000),
  ] as const;
  await using opened = await openRows(rows);
  const read = async (query: object) => {
    const all = { ...ALL, tenant: undefined, ...query };
    return (await opened.source.read(all, () => new Collected())).rows;
  };
  expect(await read({ tenant: a })).toEqual(expect.arrayContaining([rows[0], rows[1]]));
  expect(await read({ tenant: a })).toHaveLength(2);
  expect(await read({ metadata: { [key]: "v" }, tenant: a })).toEqual([rows[1]]);
  expect(await read({ metadata: { [key]: "w" } })).toEqual([]);
  expect(await read({ metadata: { [key]: "v", other: "v" } })).toEqual([]);
  expect(await read({ fromUs: NOON_US + 1_500 })).toEqual([rows[2]]);
  expect(await read({ toUs: NOON_US + 500 })).toEqual([rows[0]]);
  expect(await read({ model: "sim" })).toHaveLength(3);
  expect(await read({ model: "x' or 1=1; --" })).toEqual([]);
  expect(await read({ status: "failed" })).toEqual([]);
  expect(await read({ generation: rows[1].generation })).toEqual([rows[1]]);
  expect(await read({ generation: rows[1].generation, tenant: b })).toEqual([]);
  expect(await read({ tenant: parseTenantId("other") })).toEqual([]);
});

test("metadata that is no well-formed text keeps no question from its answer", async () => {
  const { tenant } = createRef("acme");
  const odd = { ...rowOf(tenant, {}, NOON_US), metadata: { plan: "\ud83d" } };
  const good = rowOf(tenant, { plan: "gold" }, NOON_US);
  await using opened = await openRows([odd, good]);
  const query = { ...ALL, tenant, metadata: { plan: "gold" } };
  expect((await opened.source.read(query, () => new Collected())).rows).toEqual([good]);
  expect(await opened.source.page({ ...query, limit: 10 })).toEqual([good]);
});

test("pages come newest first, one after the other without losing any", async () => {
  const { tenant } = createRef("acme");
  const rows = Array.from({ length: 7 }, (_, i) => rowOf(tenant, {}, NOON_US + Math.floor(i / 3)));
  await using opened = await openRows(rows);
  const pages: string[][] = [];
  for (let after; ;) {
    const page = await opened.source.page({ ...ALL, tenant, after, limit: 3 });
    pages.push(page.map(({ generation }) => generation));
    const last = page.at(-1);
    if (!last) break;
    after = { endedUs: last.ended_us, generation: last.generation };
  }
  expect(pages.map(({ length }) => length)).toEqual([3, 3, 1, 0]);
  const byTime = (one: GenerationRow, other: GenerationRow) =>
    other.ended_us - one.ended_us || (other.generation < one.generation ? -1 : 1);
  expect(pages.flat()).toEqual(rows.toSorted(byTime).map(({ generation }) => generation));
});

test.each([1, 2, 3])("rows have what a count of their deliveries finds, and no other's (seed %i)", (seed) =>
  withSeed(seed, async (random) => {
    const rows = ["acme", "acme", "beta", "acme"].map((tenant) => rowOf(tenant, {}, NOON_US));
    // The last one has none.
    const deliveries = rows
      .slice(0, -1)
      .flatMap((row) =>
        Array.from({ length: random.integer(1, 12) }, () => anyDelivery(row, NOON_US, random)),
      )
      // Some are stored again, and some connections were taken for lost before their last mark came.
      .flatMap((row) => [
        row,
        ...(random.chance(0.3) ? [{ ...row, recorded_us: row.recorded_us + 1_000_000_000 }] : []),
        ...(row.kind === "connection" && random.chance(0.3)
          ? [{ ...row, ended_us: null, seq: row.from_seq, recorded_us: row.recorded_us + 500 }]
          : []),
      ]);
    await using opened = await openRows(rows);
    const facts = opened.deliveries;
    await facts.last();
    const lane = { stream: OPS_STREAM, epoch: 1, created: "c", last_at: 0 };
    for (const delivery of deliveries) {
      const position = { ...lane, last: STREAM_START, last_seq_stored: STREAM_START };
      await facts.commit({ lane: position, rows: [delivery], changed: [], closed: [] }, () => []);
    }
    const expected = rows.map((row) => ({ ...row, delivery: recountDelivery(row, deliveries) }));
    const query = { ...ALL, tenant: undefined, withDelivery: true };
    const byId = (found: readonly DeliveredRow[]) =>
      found.toSorted((one, other) => (one.generation < other.generation ? -1 : 1)).map(sortGaps);
    expect(byId((await opened.source.read(query, () => new Collected())).rows)).toEqual(byId(expected));
    expect(byId(await opened.source.page({ ...query, limit: 10 }))).toEqual(byId(expected));
    const [acme] = rows;
    const own = await opened.source.page({ ...query, tenant: parseTenantId(acme?.tenant ?? ""), limit: 2 });
    expect(own.map(sortGaps)).toEqual(
      expected
        .filter(({ tenant }) => tenant === acme?.tenant)
        .toSorted((one, other) => (one.generation < other.generation ? 1 : -1))
        .slice(0, 2)
        .map(sortGaps),
    );
    const plain = await opened.source.read({ ...ALL, tenant: undefined }, () => new Collected());
    expect(plain.rows.every((row) => row.delivery === undefined)).toBe(true);
  }),
);

/** They come in no order. */
function sortGaps(row: DeliveredRow): DeliveredRow {
  const { delivery } = row;
  return delivery ? { ...row, delivery: { ...delivery, gaps: delivery.gaps?.toSorted() ?? null } } : row;
}
