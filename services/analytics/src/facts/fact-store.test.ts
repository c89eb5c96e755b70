import type { LanePosition } from "@reprise/facts/lane";
import { type EncodedFold, GenerationFold, type GenerationRow } from "@reprise/facts";
import { asSeq, encodeEvent, type GenerationRef, logSubject, type StreamSeq } from "@reprise/protocol";
import {
  completed,
  createRef,
  delta,
  requested,
  started,
  type SeededRandom,
  withSeed,
} from "@reprise/testkit";
import { expect, test } from "vitest";
import { type OpenFacts, openFacts } from "../testing/open-facts.ts";
import type { CommitDraft, LaneFacts } from "./commit-facts.ts";

const STREAM = "GENERATIONS_0";
const ALL = { tenant: undefined, fromUs: 0, toUs: Number.MAX_SAFE_INTEGER, limit: 10_000 };
const none = () => [];

function laneOf(last: number, { epoch = 0, created = "a" } = {}): LanePosition {
  return {
    stream: STREAM,
    epoch,
    created,
    last: last as StreamSeq,
    last_seq_stored: last as StreamSeq,
    last_at: last * 1_000,
  };
}

function foldOf(text = "a"): { ref: GenerationRef; row: GenerationRow; fold: EncodedFold } {
  const ref = createRef();
  const open = GenerationFold.begin(ref);
  const drafts = [requested(ref, { metadata: { plan: text } }), started(), delta("a"), completed()];
  let fold = open.encode();
  for (const [i, draft] of drafts.entries()) {
    open.feed(encodeEvent(asSeq(i), draft), 1_000 + i, ["plan"]);
    if (!open.hasEnded) fold = open.encode();
  }
  return { ref, row: open.toRow(), fold };
}

const draftOf = (lane: LanePosition, draft: Partial<CommitDraft> = {}): CommitDraft => ({
  lane,
  rows: [],
  changed: [],
  closed: [],
  ...draft,
});

const startAt = ({ epoch, created, last }: LanePosition) => ({ epoch, created, after: last, sinceUs: 0 });

async function namesOf({ rows }: OpenFacts): Promise<string[]> {
  return (await rows.page(ALL)).map(({ generation }) => generation).toSorted();
}

/** Begins as a process does that has just got the lease. */
async function begin({ facts }: OpenFacts): Promise<LaneFacts> {
  const lane = facts.lane(STREAM);
  const last = await lane.last();
  if (last) await lane.restore(startAt(last));
  return lane;
}

test("the next process continues after the last commit, with its open folds", async () => {
  await using opened = await openFacts();
  const [a, b, ended] = [foldOf(), foldOf(), foldOf()];
  const first = await begin(opened);
  expect([await first.last(), first.position]).toEqual([undefined, undefined]);
  const changed = [
    ["a", a.fold],
    ["ended", ended.fold],
  ] as const;
  expect(await first.commit(draftOf(laneOf(3), { changed }), () => changed)).toBe("committed");
  const draft = draftOf(laneOf(7), { rows: [ended.row], changed: [["b", b.fold]], closed: ["ended"] });
  expect(await first.commit(draft, none)).toBe("committed");
  expect(first.position).toEqual(laneOf(7));
  const next = opened.facts.lane(STREAM);
  expect(await next.last()).toEqual(laneOf(7));
  const folds = await next.restore(startAt(laneOf(7)));
  expect(Object.fromEntries(folds)).toEqual({ a: a.fold, b: b.fold });
  expect(await opened.rows.page(ALL)).toEqual([ended.row]);
  expect(await opened.facts.lane("GENERATIONS_1").last()).toBeUndefined();
});

test("a commit that another process has made fences, and one that is made again as it was does not", async () => {
  await using opened = await openFacts();
  const [one, other] = [await begin(opened), await begin(opened)];
  const rows = [foldOf().row, foldOf().row];
  const draft = draftOf(laneOf(2), { rows });
  expect(await one.commit(draft, none)).toBe("committed");
  expect(await other.commit(draft, none)).toBe("committed");
  expect(await one.commit(draftOf(laneOf(4), { rows: [foldOf().row] }), none)).toBe("committed");
  expect(await other.commit(draftOf(laneOf(3), { rows: [foldOf().row] }), none)).toBe("fenced");
  expect(await namesOf(opened)).toHaveLength(3);
  expect(await (await begin(opened)).last()).toEqual(laneOf(4));
});

test("of many that commit at once one has committed, and its rows alone are there", async () => {
  await using opened = await openFacts();
  const drafts = Array.from({ length: 6 }, (_, i) => draftOf(laneOf(i + 1), { rows: [foldOf().row] }));
  const all = await Promise.all(drafts.map(async (draft) => ({ draft, lane: await begin(opened) })));
  const outcomes = await Promise.all(all.map(({ draft, lane }) => lane.commit(draft, none)));
  expect(outcomes.filter((outcome) => outcome === "committed")).toHaveLength(1);
  const committed = drafts[outcomes.indexOf("committed")];
  expect(await namesOf(opened)).toEqual(committed?.rows.map(({ generation }) => generation));
});

test("a stream that was made again takes no row back and continues no fold", async () => {
  await using opened = await openFacts();
  const [old, next] = [foldOf(), foldOf()];
  const lane = await begin(opened);
  const changed = [["a", old.fold]] as const;
  await lane.commit(draftOf(laneOf(2), { rows: [old.row], changed }), () => changed);
  const newer = opened.facts.lane(STREAM);
  await newer.last();
  const position = laneOf(1, { epoch: 1, created: "b" });
  expect((await newer.restore({ ...startAt(laneOf(0)), epoch: 1, created: "b" })).size).toBe(0);
  await newer.commit(draftOf(position, { rows: [next.row], changed: [["b", next.fold]] }), () => [
    ["b", next.fold],
  ]);
  expect(await namesOf(opened)).toEqual([old, next].map(({ row }) => row.generation).toSorted());
  const again = opened.facts.lane(STREAM);
  await again.last();
  expect(await Array.fromAsync(again.all())).toEqual([position]);
  expect([...(await again.restore(startAt(position))).keys()]).toEqual(["b"]);
  // It has lost all of itself: what an earlier stream of this name had still counts.
  const empty = opened.facts.lane(STREAM);
  await empty.last();
  const beginning = laneOf(0, { epoch: 2, created: "b" });
  expect((await empty.restore(startAt(beginning))).size).toBe(0);
  await empty.commit(draftOf(laneOf(1, { epoch: 2, created: "b" })), none);
  expect(await namesOf(opened)).toEqual([old.row.generation]);
  expect((await (await begin(opened)).restore(startAt(laneOf(1, { epoch: 2, created: "b" })))).size).toBe(0);
});

test.each([1, 2, 3])(
  "at each commit that is offered, the folds that were open there are restored, in any history (seed %i)",
  (seed) =>
    withSeed(seed, async (random) => {
      await using opened = await openFacts();
      await playHistory(opened, random);
    }),
);

test("a sink gets the rows of every commit in their order, superseded ones too, and continues where it was", async () => {
  await using opened = await openFacts();
  const [a, b, c, d] = [foldOf(), foldOf(), foldOf(), foldOf()];
  const lane = await begin(opened);
  await lane.commit(draftOf(laneOf(2), { rows: [b.row, a.row] }), none);
  await lane.commit(draftOf(laneOf(3)), none);
  await lane.commit(draftOf(laneOf(4), { rows: [c.row] }), none);
  const next = opened.facts.lane(STREAM);
  await next.last();
  await next.restore({ ...startAt(laneOf(2)), epoch: 1 });
  await next.commit(draftOf(laneOf(4, { epoch: 1 }), { rows: [d.row] }), none);
  const outbox = opened.facts.outbox("file", STREAM);
  const found = await Promise.all([0, 1, 2, 3, 4].map((n) => outbox.rowsOf(n)));
  expect(found).toEqual([[b.row, a.row], [], [c.row], [d.row], undefined]);
  expect(await outbox.place()).toBe(0);
  await outbox.advance(1);
  await outbox.advance(3);
  expect(await opened.facts.outbox("file", STREAM).place()).toBe(3);
  expect(await opened.facts.outbox("webhook", STREAM).place()).toBe(0);
  expect(await opened.facts.outbox("file", "GENERATIONS_1").place()).toBe(0);
});

test("the metadata of a generation is forgotten in its row and its folds, once, and no other's", async () => {
  await using opened = await openFacts();
  const [gone, other] = [foldOf("gone\0"), foldOf("other")];
  const lane = await begin(opened);
  const changed = [gone, other].map(({ ref, fold }) => [logSubject(ref), fold] as const);
  const closed = changed.map(([subject]) => subject);
  await lane.commit(draftOf(laneOf(2), { changed }), () => changed);
  await lane.commit(draftOf(laneOf(4), { rows: [gone.row, other.row], closed }), none);
  const forget = () => opened.facts.forget(STREAM, [gone.ref], opened.rows);
  expect([await forget(), await forget()]).toEqual([1, 0]);
  const rows = [{ ...gone.row, metadata: {} }, other.row];
  expect(await opened.rows.page(ALL)).toEqual(expect.arrayContaining(rows));
  expect(await opened.facts.outbox("file", STREAM).rowsOf(1)).toEqual(rows);
  const again = opened.facts.lane(STREAM);
  await again.last();
  const folds = await again.restore({ ...startAt(laneOf(2)), epoch: 1 });
  const metadata = [gone, other].map(({ ref }) => folds.get(logSubject(ref))?.state.metadata);
  expect(metadata).toEqual([{}, { plan: "other" }]);
});

test("no text of a client keeps a row out", async () => {
  await using opened = await openFacts();
  const texts = ["\0", "a\0b", "\ud800", "\udc00x", "{}", `"'\\`, "💧", "\u2028", "$1", "NULL", ""];
  const rows = texts.map((text) => {
    const { row } = foldOf(text);
    return { ...row, model: text, metadata: { plan: text } };
  });
  const lane = await begin(opened);
  expect(await lane.commit(draftOf(laneOf(2), { rows }), none)).toBe("committed");
  const found = new Map((await opened.rows.page(ALL)).map((row) => [row.generation, row]));
  expect(found.size).toBe(texts.length);
  for (const row of rows.slice(4)) expect(found.get(row.generation)).toEqual(row);
});

/** Commits at random, loses the end now and then, and compares with a model. */
async function playHistory(opened: OpenFacts, random: SeededRandom): Promise<void> {
  const SUBJECTS = ["a", "b", "c", "d"];
  let epoch = 0;
  let last = 0;
  let open: ReadonlyMap<string, EncodedFold> = new Map();
  let history: { last: number; open: ReadonlyMap<string, EncodedFold>; rows: readonly string[] }[] = [];
  let lane = await begin(opened);
  for (let step = 0; step < 60; step++) {
    const subjects = SUBJECTS.filter(() => random.chance(0.5));
    const closed = subjects.filter((subject) => open.has(subject) && random.chance(0.5));
    const changed = subjects
      .filter((subject) => !closed.includes(subject))
      .map((subject) => [subject, foldOf().fold] as const);
    const rows = closed.map(() => foldOf().row);
    open = new Map([...open, ...changed].filter(([subject]) => !closed.includes(subject)));
    last += random.integer(1, 5);
    const now = open;
    const outcome = await lane.commit(draftOf(laneOf(last, { epoch }), { rows, changed, closed }), () => now);
    expect(outcome).toBe("committed");
    history.push({ last, open, rows: rows.map(({ generation }) => generation) });
    if (!random.chance(0.2)) continue;
    lane = opened.facts.lane(STREAM);
    const newest = await lane.last();
    expect(newest).toEqual(laneOf(last, { epoch }));
    const offered = await Array.fromAsync(lane.all());
    // Not all of those that a store offers are asked for: the newer, the likelier.
    const place = offered[random.integer(0, Math.min(offered.length - 1, 12))]?.last;
    const isLost = place !== last;
    epoch += Number(isLost);
    const kept = history.findIndex((commit) => commit.last === place);
    expect(kept).toBeGreaterThanOrEqual(0);
    history = history.slice(0, kept + 1);
    ({ open, last } = history[kept] ?? { open, last });
    const folds = await lane.restore(startAt(laneOf(last, { epoch })));
    expect(Object.fromEntries(folds)).toEqual(Object.fromEntries(open));
  }
  lane = opened.facts.lane(STREAM);
  await lane.last();
  await lane.restore(startAt(laneOf(last, { epoch: epoch + 1 })));
  await lane.commit(draftOf(laneOf(last + 1, { epoch: epoch + 1 })), () => open);
  const offered = (await Array.fromAsync(lane.all())).slice(1);
  expect(history.map((commit) => commit.last)).toEqual(
    expect.arrayContaining(offered.map((position) => position.last)),
  );
  expect(await namesOf(opened)).toEqual(history.flatMap(({ rows }) => rows).toSorted());
}
