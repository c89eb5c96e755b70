import { storeCheckpoint, logErasure } from "@reprise/stream";
import {
  CHECKPOINTS_STREAM,
  encodeEvent,
  type EventDraft,
  logSubject,
  peekSeq,
  asSeq,
  type UnixMs,
  plusMs,
  unixNow,
} from "@reprise/protocol";
import { completed, createRef, delta } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  archivedUpTo,
  findingsIn,
  type LifecycleWorld,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { keepErrors } from "../../testing/keep-errors.ts";
import { filesWith, streamsWith } from "../../testing/search-stores.ts";
import { eraseSubject } from "../erasure/erase.ts";
import { openErasures } from "../../records/erasures.ts";
import { startMaintenance } from "./maintenance.ts";

const { tenant } = createRef();
const request = { tenant, subject: "ann", by: "operator", reason: "a test" };
const settle = { settleMs: SETTLE_MS };

async function maintenanceOf(world: LifecycleWorld, now: () => UnixMs) {
  const context = await world.openContext();
  const errors: unknown[] = [];
  const onError = keepErrors(errors);
  const options = { ...context, ...settle, now, onError, tenants: () => [], holder: "test" };
  const maintenance = startMaintenance({ ...options, intervalMs: 50 });
  return { ...context, errors, [Symbol.asyncDispose]: () => maintenance.close() };
}

test("finishes an abandoned erasure after two minutes", async () => {
  await using world = await openLifecycleWorld();
  await using archiver = await world.startArchiver();
  await writeLog(world.live.log, createRef(), { subject: "ann" }, [delta("secret"), completed()]);
  await archivedUpTo(world, "secret");
  const startedMs = unixNow();
  await eraseSubject({ ...(await world.openContext()), live: undefined }, request);
  let passedMs = 119_000;
  await using maintenance = await maintenanceOf(world, () => plusMs(startedMs, passedMs));
  const { archive } = maintenance;
  await expect.poll(() => openErasures(archive.state)).toHaveLength(1);
  passedMs = 600_000;
  await expect.poll(() => openErasures(archive.state)).toEqual([]);
  expect(await streamsWith(world.live.broker, "secret")).toEqual([]);
  await Promise.all([archiver.stop(), maintenance[Symbol.asyncDispose]()]);
  expect(await findingsIn(world)).toEqual([]);
  expect(maintenance.errors).toEqual([]);
});

async function checkpointFilesWith({ server }: LifecycleWorld, text: string): Promise<string[]> {
  return (await filesWith(server.storeDir, text)).filter((path) => path.includes(CHECKPOINTS_STREAM));
}

test("removes what a process that slept writes after an erasure", async () => {
  await using world = await openLifecycleWorld();
  const ref = createRef();
  await writeLog(world.live.log, ref, { subject: "ann" }, [delta("secret"), completed()]);
  const snapshot = await world.live.log.reader.readLog(ref);
  await eraseSubject(await world.openContext(), request, settle);
  const { publishCheckpoint: publish } = world.live.log;
  await storeCheckpoint({ publish, ref, snapshot, maxBytes: 1_000_000 });
  expect(await streamsWith(world.live.broker, "secret")).toHaveLength(1);
  await using maintenance = await maintenanceOf(world, unixNow);
  await expect.poll(() => streamsWith(world.live.broker, "secret")).toEqual([]);
  await expect.poll(() => logErasure.readTextIntervals(world.live.broker, [ref])).toEqual([]);
  expect(await checkpointFilesWith(world, "secret")).toEqual([]);
  await expect(world.live.log.reader.readLog(ref)).rejects.toMatchObject({ code: "generation_erased" });
  expect(maintenance.errors).toEqual([]);
});

test("what is appended after the end of an erased generation is removed again, and is no gap to a later archiver", async () => {
  await using world = await openLifecycleWorld();
  const { log } = world.live;
  const ref = createRef();
  const quote = { replacement: "a quote", rule: "cards", category: "personal-data" };
  const redacted: EventDraft = {
    type: "moderation.redacted",
    from_seq: asSeq(1),
    to_seq: asSeq(1),
    ...quote,
  };
  await writeLog(log, ref, { subject: "ann" }, [delta("secret"), completed(), redacted]);
  await eraseSubject(await world.openContext(), request, settle);
  const end = await log.leader.readLast(ref);
  const late = encodeEvent(asSeq(peekSeq(end!.payload) + 1), redacted);
  const stored = await log.publish(logSubject(ref), late, { expectedLast: end!.streamSeq });
  expect(stored).toMatchObject({ kind: "stored" });
  await using maintenance = await maintenanceOf(world, unixNow);
  await expect.poll(() => logErasure.isPurged({ ...world.live, ref })).toBe(true);
  await maintenance[Symbol.asyncDispose]();

  await using archiver = await world.startArchiver();
  await writeLog(log, createRef(), {}, [delta("later"), completed()]);
  await archivedUpTo(world, "later");
  await archiver.stop();
  expect(await findingsIn(world)).toEqual([]);
  expect(openErasures(archiver.archive.state)).toEqual([]);
  expect(maintenance.errors).toEqual([]);
});
