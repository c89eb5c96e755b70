import { join } from "node:path";
import { createFileStore } from "@reprise/archive";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCrashingArchiver } from "./testing/worlds/start-crashing-archiver.ts";
import { openWrittenLogs, SHARDS } from "./testing/written-logs.ts";

/** Twenty see every step, before and after it. */
const ROUNDS = Number(process.env["AUDIT_CRASH_ROUNDS"] ?? 6);
/** Minimum number of changes that a batch makes to its stores. */
const STEPS = 10;

async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const logs = stack.use(await openWrittenLogs(["acme", "beta", "gamma"], 5));
  const { path: dir } = stack.use(await createTempDir("audit-crashes"));
  const stores = { archive: createFileStore(join(dir, "archive")), keys: createFileStore(join(dir, "keys")) };
  const kept = stack.move();
  return {
    ...logs,
    dir,
    expectExactlyOnce: () => logs.expectExactlyOnce(stores),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

const startArchiver = ({ url, dir }: World, calls: number, when: "before" | "after") =>
  startCrashingArchiver({ url, dir, shards: SHARDS, calls, when });

test(`an archiver that is killed at one step after another loses nothing and doubles nothing: ${ROUNDS} rounds`, async () => {
  await using world = await openWorld();
  for (let round = 0; round < ROUNDS; round++) {
    await world.write(6);
    const when = (round + Math.floor(round / STEPS)) % 2 === 0 ? "before" : "after";
    const { exited } = startArchiver(world, 1 + (round % STEPS), when);
    expect(await exited).toEqual([null, "SIGKILL"]);
  }
  const { child, exited } = startArchiver(world, 0, "before");
  await world.expectExactlyOnce();
  child.kill("SIGTERM");
  await exited;
});

test("of two archivers of the same streams one stops by itself, and nothing is archived twice", async () => {
  await using world = await openWorld();
  await world.write(20);
  const both = [startArchiver(world, 0, "before"), startArchiver(world, 0, "before")];
  await Promise.all(both.map(({ ready }) => ready));
  await world.write(40);
  await world.expectExactlyOnce();
  const [first] = both;
  first!.child.kill("SIGTERM");
  await world.write(5);
  for (const { child } of both) child.kill("SIGTERM");
  await Promise.all(both.map(({ exited }) => exited));
  const { child, exited } = startArchiver(world, 0, "before");
  await world.expectExactlyOnce();
  child.kill("SIGTERM");
  await exited;
});
