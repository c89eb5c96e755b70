import { asStreamSeq, type StreamSeq } from "@reprise/protocol";
import { type ArchiveRecord, erasuresOf, type PlacesByStream } from "@reprise/archive";
import { logErasure } from "@reprise/stream";
import { completed, createRef, delta } from "@reprise/testkit";
import { expect, test } from "vitest";
import { beginErasure } from "../../testing/worlds/begun-erasure.ts";
import { openLifecycleWorld, SETTLE_MS, writeLog } from "../../testing/worlds/lifecycle-world.ts";
import { type Erasure, erasuresIn } from "../../records/erasures.ts";
import { finishErasure } from "./finish-erasure.ts";
import { recordsDraft, requestDraft } from "../../records/request-draft.ts";

async function openWorld() {
  const world = await openLifecycleWorld();
  const refs = [createRef(), createRef()] as const;
  for (const ref of refs) await writeLog(world.live.log, ref, {}, [delta("secret"), completed()]);
  return { ...world, refs, tenant: refs[0].tenant };
}

test("what another process has taken into an erasure meanwhile is erased too, and stays in its records", async () => {
  await using world = await openWorld();
  const { refs, tenant, live } = world;
  const context = await world.openContext();
  const known = await beginErasure(context, [refs[0]]);
  const { generations } = await beginErasure(await world.openContext(), [...refs]);
  const finished = await finishErasure(context, tenant, known, { settleMs: SETTLE_MS });
  expect(finished).toMatchObject({ generations });
  expect(erasuresIn(context.archive.state.records(tenant))).toEqual([finished]);
  expect(await Promise.all(refs.map((ref) => logErasure.isPurged({ ...live, ref })))).toEqual([true, true]);
});

test("what another process has finished stays so when this one says what else becomes empty", async () => {
  await using world = await openWorld();
  const { refs, tenant } = world;
  const context = await world.openContext();
  const known = await beginErasure(context, [refs[0]]);
  const other = await world.openContext();
  const grown = await beginErasure(other, [...refs]);
  const finished = await finishErasure(other, tenant, grown, { settleMs: SETTLE_MS });
  const { archive } = context;
  await archive.append((state) => requestDraft(state, tenant, known, { purged: {}, at: known.at }));
  expect(erasuresIn(archive.state.records(tenant))).toEqual([{ ...finished, at: known.at }]);
});

test("each request of an erasure names what no earlier one has, and all of them count", async () => {
  await using world = await openWorld();
  const { refs, tenant } = world;
  const { archive } = await world.openContext();
  const ids = refs.map(({ generation }) => generation).toSorted();
  const first = { ...(await beginErasure(await world.openContext(), [refs[0]])), doneAt: undefined };
  const places = {
    OPS: {
      created: "2026-01-01T00:00:00Z",
      ranges: [[asStreamSeq(7), asStreamSeq(9)]] satisfies [StreamSeq, StreamSeq][],
    },
  };
  const request = (erasure: Erasure, purged: PlacesByStream) =>
    archive.append((state) => requestDraft(state, tenant, erasure, { purged, at: first.at }));
  await archive.refresh();
  await request({ ...first, generations: ids }, {});
  await request(first, places);
  const destroyed: ArchiveRecord = { kind: "key_destroyed", at: first.at, id: first.id, kids: [] };
  await archive.append(() => recordsDraft(tenant, [destroyed]));
  const records = archive.state.records(tenant);
  const named = records.flatMap((record) =>
    record.kind === "erasure_requested" ? [record.generations] : [],
  );
  expect(named).toEqual([[refs[0].generation], [refs[1].generation], []]);
  expect(erasuresIn(records)).toMatchObject([{ generations: ids, doneAt: first.at }]);
  expect([...erasuresOf(records).generations.keys()].toSorted()).toEqual(ids);
});

test("an erasure that is to be left commits nothing more, and purges nothing", async () => {
  await using world = await openWorld();
  const { refs, tenant, live } = world;
  const context = await world.openContext();
  const erasure = await beginErasure(context, [refs[0]]);
  const commits = context.archive.state.next;
  const left = finishErasure(context, tenant, erasure, { settleMs: SETTLE_MS, signal: AbortSignal.abort() });
  await expect(left).rejects.toMatchObject({ name: "AbortError" });
  expect(context.archive.state.next).toBe(commits);
  expect(await logErasure.isPurged({ ...live, ref: refs[0] })).toBe(false);
});
