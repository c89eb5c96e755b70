import { type BlobStore, openArchive } from "@reprise/archive";
import { createFaultyStore, type FaultPlan } from "@reprise/archive/testing";
import { auditCallSubject } from "@reprise/protocol";
import { createMetrics } from "@reprise/runtime";
import { createRef, delta, requested } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startTestAuditLog } from "./testing/start-test-audit-log.ts";
import { type LaneWorld, openLaneWorld, STREAM } from "./testing/worlds/lane-world.ts";
import { readLeaseHolder, takeLease } from "./testing/worlds/lease-holder.ts";

const start = async (
  world: LaneWorld,
  store: BlobStore,
  metrics = createMetrics({ processMetrics: false }),
) => startTestAuditLog(world, await world.openKeyring(), { store, metrics });

const holderOf = ({ broker }: LaneWorld) => readLeaseHolder(broker, "audit-log", STREAM);

test("closing while nothing can be committed leaves everything to other replicas, and returns in time", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  let isAway = false;
  let refused = 0;
  const plan: FaultPlan = ({ method }) => {
    if (!isAway || method !== "create") return undefined;
    refused++;
    return "before";
  };
  const auditLog = await start(world, createFaultyStore(world.store, plan));
  const archive = await openArchive({ store: world.store, name: "test" });
  const archivedUpTo = async () => {
    await archive.refresh();
    return archive.state.lanes.get(STREAM)?.last;
  };
  await world.write(ref, 0, [requested(ref), ...Array.from({ length: 9 }, () => delta("a"))]);
  await expect.poll(archivedUpTo).toBe(10);
  expect(await holderOf(world)).toMatch(/./);

  isAway = true;
  await world.write(ref, 10, [delta("b")]);
  await expect.poll(() => refused).toBeGreaterThan(0);
  // This call waits for the commit, and its answer will never be read.
  const ask = JSON.stringify({ tenant: ref.tenant, generation: ref.generation });
  world.broker.main.publish(auditCallSubject("record"), ask, { reply: "_INBOX.nobody" });
  await auditLog.close();
  expect(await holderOf(world)).toBe("");
  expect(await archivedUpTo()).toBe(10);
  const triedUntilClosed = refused;

  await using next = await start(world, world.store);
  await expect.poll(archivedUpTo).toBe(11);
  expect([refused, next.notReadyBecause()]).toEqual([triedUntilClosed, []]);
  // The checkpoint comes after the last commit.
  await expect.poll(async () => (await world.verify()).code).toBe(0);
});

test("what another process is to archive now is no lag of this one any more", async () => {
  await using world = await openLaneWorld();
  const ref = createRef();
  let isAway = false;
  const plan: FaultPlan = ({ method }) => (isAway && method === "create" ? "before" : undefined);
  const metrics = createMetrics({ processMetrics: false });
  await using _ = await start(world, createFaultyStore(world.store, plan), metrics);
  const lag = async () => Number(/^reprise_audit_lag_seconds (.+)$/m.exec(await metrics.render())![1]);
  await expect.poll(() => holderOf(world)).toMatch(/./);
  isAway = true;
  await world.write(ref, 0, [requested(ref)]);
  await expect.poll(lag).toBeGreaterThan(0);
  const lagOnceTaken = async () => {
    await takeLease(world.broker, "audit-log", STREAM);
    return lag();
  };
  await expect.poll(lagOnceTaken).toBe(0);
});

test("metrics have how long commits took, and their bytes", async () => {
  await using world = await openLaneWorld();
  const metrics = createMetrics({ processMetrics: false });
  await using _ = await start(world, world.store, metrics);
  const ref = createRef();
  await world.write(ref, 0, [requested(ref)]);
  const value = async (name: string) =>
    Number(new RegExp(`^${name} (.+)$`, "m").exec(await metrics.render())?.[1]);
  await expect.poll(() => value("reprise_audit_commit_seconds_count")).toBe(1);
  expect(await value("reprise_audit_archived_bytes_total")).toBeGreaterThan(0);
  expect(await value("reprise_audit_commits_total")).toBe(1);
});

test("an archive that can't be written makes its process unready, with the cause, until it can be written again", async () => {
  await using world = await openLaneWorld();
  let isAway = false;
  const plan: FaultPlan = ({ method }) => (isAway && method === "create" ? "before" : undefined);
  await using auditLog = await start(world, createFaultyStore(world.store, plan));
  await expect.poll(() => holderOf(world)).toMatch(/./);
  isAway = true;
  const ref = createRef();
  await world.write(ref, 0, [requested(ref)]);
  await expect
    .poll(() => auditLog.notReadyBecause())
    .toEqual([expect.stringContaining("the archive takes no commits: ")]);
  isAway = false;
  await expect.poll(() => auditLog.notReadyBecause()).toEqual([]);
});
