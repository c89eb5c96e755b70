import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { GenerationFold, type GenerationRow, toUsageEvent } from "@reprise/metering";
import { history, type StoredBytes } from "@reprise/metering/testing";
import { asSeq, encodeEvent, type EventDraft, type GenerationRef, parseTenantId } from "@reprise/protocol";
import { completed, createRef, createTempDir, delta, requested, started } from "@reprise/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createFileSink } from "../sinks/file-sink.ts";
import { openArchiveWorld } from "../testing/archive-world.ts";
import type { RowQuery, RowSource } from "../facts/row-source.ts";
import type { Difference } from "./difference.ts";
import { reconcile, type ReconcileOptions } from "./reconcile.ts";

const NOON_US = Date.parse("2026-11-23T12:00:00Z") * 1_000;
const MINUTE_US = 60_000_000;
const KEYS = ["plan", "feature"];
const ALWAYS = { fromUs: 0, toUs: Number.MAX_SAFE_INTEGER };
const DONE = { archive: () => Infinity, rows: () => Infinity, usageFiles: () => Infinity };

function toLog(drafts: readonly EventDraft[], atUs = NOON_US): StoredBytes[] {
  return drafts.map((draft, seq) => ({
    payload: encodeEvent(asSeq(seq), draft),
    storedAtUs: atUs + 1_000 * seq,
  }));
}

function logOf(ref: GenerationRef, tokens: number, atUs = NOON_US): StoredBytes[] {
  const deltas = Array.from({ length: tokens }, () => delta("word"));
  const request = requested(ref, { metadata: { plan: "gold" } });
  return toLog([request, started(), ...deltas, completed()], atUs);
}

function foldAll(ref: GenerationRef, log: readonly StoredBytes[]): GenerationRow {
  const fold = GenerationFold.begin(ref);
  for (const { payload, storedAtUs } of log) fold.feed(payload, storedAtUs, KEYS);
  return fold.toRow();
}

function sourceOf(rows: readonly GenerationRow[]): RowSource {
  const find = ({ tenant, fromUs, toUs }: RowQuery) =>
    rows.filter(
      (row) =>
        row.ended_us >= fromUs && row.ended_us < toUs && (tenant === undefined || row.tenant === tenant),
    );
  return {
    async read(query, create) {
      const consumer = create();
      for (const row of find(query)) consumer.add(row);
      return consumer;
    },
    page: async (query) => find(query),
    objectsOf: async () => [],
  };
}

async function run(options: Pick<ReconcileOptions, "archived" | "rows"> & Partial<ReconcileOptions>) {
  const found: Difference[] = [];
  const result = await reconcile({
    usageDir: undefined,
    reach: DONE,
    range: ALWAYS,
    tenant: undefined,
    onDifference: (one) => void found.push(one),
    ...options,
  });
  return { ...result, found };
}

test("a row that is computed from the archive is that of the log, of any history in any parts", async () => {
  await using world = await openArchiveWorld();
  const cuts = fc.array(fc.nat({ max: 70 }), { maxLength: 5 });
  const rows: GenerationRow[] = [];
  await fc.assert(
    fc.asyncProperty(history, cuts, async (log, at) => {
      const ref = createRef();
      await world.addLog(ref, log, at);
      const row = foldAll(ref, log);
      expect(await world.archived.read(ref, KEYS)).toEqual({ kind: "ended", row });
      rows.push(row);
    }),
    { numRuns: 100 },
  );
  const { compared, found } = await run({ archived: world.archived, rows: sourceOf(rows), mostAtATime: 7 });
  expect(found).toEqual([]);
  expect(compared).toBe(rows.length);
});

test("windows of any size compare each generation once, those whose clock was set back and those across a border too", async () => {
  await using world = await openArchiveWorld();
  const rows: GenerationRow[] = [];
  for (let i = 0; i < 12; i++) {
    const ref = createRef(i % 2 === 0 ? "acme" : "globex");
    // Ends of every third lie two minutes before what came before them.
    const log = logOf(ref, 3, NOON_US + i * MINUTE_US - 2_000).map((event, seq) =>
      seq === 5 && i % 3 === 0 ? { ...event, storedAtUs: event.storedAtUs - 2 * MINUTE_US } : event,
    );
    await world.addLog(ref, log, [5]);
    rows.push(foldAll(ref, log));
  }
  for (const mostAtATime of [1, 2, 100]) {
    const { compared, found, totals } = await run({ ...world, rows: sourceOf(rows), mostAtATime });
    expect([compared, found]).toEqual([12, []]);
    const tokens = totals.map(({ tenant, record, output_tokens: count }) => [tenant, record, count]);
    expect(tokens).toEqual(
      ["acme", "globex"].flatMap((tenant) => ["archive", "rows"].map((record) => [tenant, record, 6 * 2])),
    );
  }
  // A row that is missing is named once, whether the clock was set back or not.
  for (const missing of rows) {
    const others = sourceOf(rows.filter((row) => row !== missing));
    const { found } = await run({ ...world, rows: others, mostAtATime: 1 });
    expect(found.map(({ kind, generation }) => [kind, generation])).toEqual([
      ["missing_in_rows", missing.generation],
    ]);
  }
  const half = { fromUs: NOON_US + 3 * MINUTE_US, toUs: NOON_US + 9 * MINUTE_US };
  const inHalf = rows.filter((row) => row.ended_us >= half.fromUs && row.ended_us < half.toUs);
  expect(await run({ ...world, rows: sourceOf(rows), range: half, mostAtATime: 2 })).toMatchObject({
    compared: inHalf.length,
    found: [],
  });
  const acme = createRef("acme").tenant;
  expect(await run({ ...world, rows: sourceOf(rows), tenant: acme })).toMatchObject({
    compared: 6,
    found: [],
  });
});

test("what is missing, twice, changed or moved in time is named, with both values", async () => {
  await using world = await openArchiveWorld();
  const refs = Array.from({ length: 6 }, () => createRef());
  const rows: GenerationRow[] = [];
  for (const [i, ref] of refs.entries()) {
    const log = logOf(ref, i + 1, NOON_US + i * MINUTE_US);
    rows.push(foldAll(ref, log));
    if (i !== 3) await world.addLog(ref, log, [2]);
  }
  const [dropped, changed, twice, , moved, fine] = rows as [
    GenerationRow,
    GenerationRow,
    GenerationRow,
    GenerationRow,
    GenerationRow,
    GenerationRow,
  ];
  const tampered = [
    { ...changed, output_tokens: 1_000, metadata: { plan: "free" } },
    twice,
    twice,
    rows[3]!,
    { ...moved, ended_us: moved.ended_us + 60 * MINUTE_US },
    fine,
    { ...fine, tenant: "no tenant's name" },
  ];
  for (const mostAtATime of [1, 100]) {
    const { found, differences } = await run({ ...world, rows: sourceOf(tampered), mostAtATime });
    const named = found.map(({ kind, generation, fields }) => [kind, generation, fields]);
    const expected = [
      ["missing_in_rows", dropped.generation, undefined],
      [
        "different_in_rows",
        changed.generation,
        {
          metadata: { archive: { plan: "gold" }, found: { plan: "free" } },
          output_tokens: { archive: changed.output_tokens, found: 1_000 },
        },
      ],
      ["twice_in_rows", twice.generation, undefined],
      ["missing_in_archive", rows[3]!.generation, undefined],
      [
        "different_in_rows",
        moved.generation,
        { ended_us: { archive: moved.ended_us, found: moved.ended_us + 60 * MINUTE_US } },
      ],
      ["missing_in_archive", fine.generation, undefined],
    ];
    if (mostAtATime === 1) expected.push(["missing_in_rows", moved.generation, undefined]);
    expect(named).toHaveLength(expected.length);
    expect(named).toEqual(expect.arrayContaining(expected));
    expect(differences).toBe(expected.length);
  }
});

test("what can't be compared yet, or no longer, is counted and no difference", async () => {
  await using world = await openArchiveWorld();
  const [both, erased, expired, late, running, unread, partial] = Array.from({ length: 7 }, () =>
    createRef(),
  ) as [
    GenerationRef,
    GenerationRef,
    GenerationRef,
    GenerationRef,
    GenerationRef,
    GenerationRef,
    GenerationRef,
  ];
  const rows: GenerationRow[] = [];
  const add = async (ref: GenerationRef, atUs: number, more: { archive: boolean; row: boolean }) => {
    const log = logOf(ref, 2, atUs);
    if (more.archive) await world.addLog(ref, log);
    if (more.row) rows.push(foldAll(ref, log));
    return log;
  };
  await add(both, NOON_US, { archive: true, row: true });
  await add(erased, NOON_US, { archive: true, row: true });
  await add(expired, NOON_US - 48 * 60 * MINUTE_US, { archive: false, row: true });
  await add(late, NOON_US + MINUTE_US, { archive: false, row: true });
  await world.add(running, logOf(running, 2).slice(0, 3), 0);
  await add(unread, NOON_US + MINUTE_US, { archive: true, row: false });
  await world.add(partial, logOf(partial, 2).slice(2), 2);
  rows.push(foldAll(partial, logOf(partial, 2)));
  const at = "2026-11-23T12:00:00Z";
  const requestedBy = { kind: "erasure_requested", at, id: "e1", by: "ann", reason: "" } as const;
  await world.record(erased.tenant, { ...requestedBy, generations: [erased.generation], purged: {} });
  await world.record(erased.tenant, { kind: "key_destroyed", at, id: "e1", kids: [] });
  await world.record(expired.tenant, { kind: "retention_deleted", at, day: "2026-11-21", files: [] });
  const reach = { ...DONE, archive: () => NOON_US + MINUTE_US, rows: () => NOON_US + MINUTE_US };
  const result = await run({ ...world, rows: sourceOf(rows), reach });
  expect(result.notCompared).toEqual({
    running: 1,
    erased: 1,
    deleted_by_retention: 1,
    not_archived_yet: 1,
    no_row_yet: 1,
    not_delivered_yet: 0,
  });
  expect(result.found.map(({ kind, generation }) => [kind, generation])).toEqual([
    ["incomplete_in_archive", partial.generation],
  ]);
  expect(result.compared).toBe(1);
});

test("usage files are compared by their first event of a generation, whatever else is in them", async () => {
  await using world = await openArchiveWorld();
  await using dir = await createTempDir("usage");
  const usageDir = join(dir.path, "usage");
  const rows: GenerationRow[] = [];
  for (let i = 0; i < 4; i++) {
    const ref = createRef();
    const log = logOf(ref, 2, NOON_US + i * MINUTE_US);
    await world.addLog(ref, log);
    rows.push(foldAll(ref, log));
  }
  const price = { currency: "USD", input: "1", output: "2" };
  const [fine, changed, absent, undelivered] = rows.map((row) =>
    toUsageEvent(row, { source: "/test", price }),
  );
  if (!fine || !changed || !absent || !undelivered) throw new Error("There are four.");
  const sink = createFileSink(usageDir);
  const deliver = (event: typeof fine) => sink.deliver({ id: "1", events: [event] }, AbortSignal.abort());
  await deliver(fine);
  // A process that has died in the middle of a line, and what comes again behind it.
  await appendFile(join(usageDir, "usage-2026-11-23.ndjson"), JSON.stringify(changed).slice(0, 50));
  await deliver({ ...changed, data: { ...changed.data, output_tokens: 9 } });
  await deliver(changed);
  await deliver({ ...fine, data: { ...fine.data, output_tokens: 9 } });
  await deliver({ ...absent, id: createRef().generation });
  const reach = { ...DONE, usageFiles: () => NOON_US + 3 * MINUTE_US };
  for (const mostAtATime of [1, 100]) {
    const result = await run({ ...world, rows: sourceOf(rows), usageDir, reach, mostAtATime });
    expect(result.found.map(({ kind, generation }) => [kind, generation])).toEqual(
      expect.arrayContaining([
        ["different_in_usage_files", changed.id],
        ["missing_in_usage_files", absent.id],
        ["missing_in_archive", expect.anything()],
      ]),
    );
    expect(result.differences).toBe(3);
    expect(result.notCompared.not_delivered_yet).toBe(1);
  }
});

test("a row that is missing is one difference: its usage event is compared by its own keys", async () => {
  await using world = await openArchiveWorld();
  await using usage = await createTempDir("usage");
  const ref = createRef();
  const log = logOf(ref, 3);
  await world.addLog(ref, log);
  const events = [toUsageEvent(foldAll(ref, log), { source: "test" })];
  await createFileSink(usage.path).deliver({ id: "1", events }, new AbortController().signal);
  const { found } = await run({ ...world, rows: sourceOf([]), usageDir: usage.path });
  expect(found.map(({ kind }) => kind)).toEqual(["missing_in_rows"]);
});

test("usage lines whose data are none differ, and hide nothing else", async () => {
  await using world = await openArchiveWorld();
  await using usage = await createTempDir("usage");
  const refs = [createRef(), createRef(), createRef(), createRef()];
  const rows: GenerationRow[] = [];
  const forgeries = [null, {}, "17", undefined];
  for (const [i, ref] of refs.entries()) {
    const log = logOf(ref, 3);
    await world.addLog(ref, log);
    rows.push(foldAll(ref, log));
    const event = toUsageEvent(foldAll(ref, log), { source: "test" });
    const line = JSON.stringify(i < 3 ? { ...event, data: forgeries[i] } : event);
    await appendFile(join(usage.path, "usage-2026-11-23.ndjson"), `${line}\n`);
  }
  const { found, totals } = await run({ ...world, rows: sourceOf(rows), usageDir: usage.path });
  expect(found).toHaveLength(3);
  expect(new Set(found.map(({ kind, generation }) => `${kind} ${generation}`))).toEqual(
    new Set(refs.slice(0, 3).map(({ generation }) => `different_in_usage_files ${generation}`)),
  );
  expect(totals.filter(({ record }) => record === "usage_files")).toMatchObject([{ generations: 1 }]);
});

test("a tenant that no record has is a wrong call", async () => {
  await using world = await openArchiveWorld();
  const ref = createRef("acme");
  await world.addLog(ref, logOf(ref, 3));
  const of = (tenant: string) => run({ ...world, rows: sourceOf([]), tenant: parseTenantId(tenant) });
  expect((await of("acme")).compared).toBe(1);
  await expect(of("acne")).rejects.toMatchObject({ code: "invalid_request" });
});
