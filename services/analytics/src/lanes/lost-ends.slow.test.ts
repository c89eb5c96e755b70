import { asSeq, encodeEvent, type EventDraft, type GenerationRef } from "@reprise/protocol";
import { completed, createRef, delta, requested, started } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type LaneWorld, openLaneWorld } from "../testing/lane-world.ts";

async function append(world: LaneWorld, ref: GenerationRef, fromSeq: number, drafts: readonly EventDraft[]) {
  for (const [i, draft] of drafts.entries()) await world.append(ref, encodeEvent(asSeq(fromSeq + i), draft));
}

/** Stores a whole log, and waits until it has a row. */
async function appendWhole(world: LaneWorld): Promise<GenerationRef> {
  const ref = createRef();
  await append(world, ref, 0, [requested(ref), started(), delta("a"), completed()]);
  await expect.poll(() => generationsOf(world)).toContain(ref.generation);
  return ref;
}

async function generationsOf(world: LaneWorld): Promise<string[]> {
  return (await world.rows()).map(({ generation }) => generation).toSorted();
}

test("after a lost end a restart continues with what was open there, and with nothing that was lost", async () => {
  await using world = await openLaneWorld();
  await using lane = world.start();
  const [open, advanced] = [createRef(), createRef()];
  for (const ref of [open, advanced]) await append(world, ref, 0, [requested(ref), started(), delta("a")]);
  await appendWhole(world);
  await world.server.snapshotStore();
  await append(world, open, 3, [completed()]);
  await append(world, advanced, 3, [delta("lost"), delta("lost"), delta("lost")]);
  const lost = await appendWhole(world);
  await lane.stop();
  await world.server.restoreStore();
  await using second = world.start();
  // A commit that neither of the two has a part in.
  await appendWhole(world);
  expect(await generationsOf(world)).not.toContain(lost.generation);
  await second.stop();
  await using third = world.start();
  await append(world, open, 3, [delta("b"), completed()]);
  await append(world, advanced, 3, [delta("b"), completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(4);
  await third.stop();
  for (const ref of [open, advanced]) {
    const row = (await world.rows()).find(({ generation }) => generation === ref.generation);
    expect(row).toEqual(await world.foldStored(ref));
  }
});

test("a stream that loses its end twice keeps the rows of all that it has not lost, expired or not", async () => {
  await using world = await openLaneWorld();
  const lane = world.start();
  const old = await appendWhole(world);
  const kept = await appendWhole(world);
  await world.server.snapshotStore();
  await appendWhole(world);
  await lane.stop();
  await world.server.restoreStore();
  await world.server.snapshotStore();
  const second = world.start();
  await appendWhole(world);
  await second.stop();
  await world.server.restoreStore();
  const last = createRef();
  await append(world, last, 0, [requested(last), started()]);
  // Logs that have a row expire in time.
  await world.purgeBefore(5);
  await using third = world.start();
  await append(world, last, 2, [delta("a"), completed()]);
  await expect.poll(() => generationsOf(world)).toContain(last.generation);
  expect(await generationsOf(world)).toEqual(
    [old, kept, last].map(({ generation }) => generation).toSorted(),
  );
  expect(third.errors).toEqual([]);
});

test("rows of a stream that was made again stay, and a log that is in it again has a row of its own", async () => {
  await using world = await openLaneWorld();
  const lane = world.start();
  const ended = await appendWhole(world);
  const open = createRef();
  await append(world, open, 0, [requested(open), started(), delta("a"), delta("b"), delta("c")]);
  const other = await appendWhole(world);
  await lane.stop();
  await world.makeStreamAnew();
  const second = world.start();
  const next = await appendWhole(world);
  await second.stop();
  await using third = world.start();
  await append(world, open, 0, [requested(open), started(), completed()]);
  await expect.poll(async () => (await world.rows()).length).toBe(4);
  const all = [ended, open, other, next].map(({ generation }) => generation);
  expect(await generationsOf(world)).toEqual(all.toSorted());
  await third.stop();
  const row = (await world.rows()).find(({ generation }) => generation === open.generation);
  expect(row).toEqual(await world.foldStored(open));
});
