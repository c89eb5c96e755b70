import { join } from "node:path";
import { createFileStore } from "@reprise/archive";
import { createSeededRandom, createTempDir } from "@reprise/testkit";
import { expect, test, vi } from "vitest";
import { startCrashingArchiver } from "./testing/worlds/start-crashing-archiver.ts";
import { openWrittenLogs, SHARDS } from "./testing/written-logs.ts";

const ROUNDS = Number(process.env["AUDIT_CRASH_ROUNDS"] ?? 50);
const SEED = Number(process.env["AUDIT_CRASH_SEED"] ?? 5);
/** A batch makes at least half as many changes to its stores. */
const STEPPED_ROUNDS = 20;
/** Of starting a process, and letting it archive and die. */
const ROUND_LIMIT_MS = 20_000;
vi.setConfig({ testTimeout: ROUNDS * ROUND_LIMIT_MS });

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

test(`an archiver that is killed at every step, and anywhere, loses nothing and doubles nothing: ${ROUNDS} rounds, seed ${SEED}`, async () => {
  await using world = await openWorld();
  const random = createSeededRandom(SEED);
  for (let round = 0; round < ROUNDS; round++) {
    await world.write(6);
    const isTimed = round >= STEPPED_ROUNDS && round % 2 === 0;
    // The first rounds go through the steps of a batch one by one, before and after each.
    const calls = round < STEPPED_ROUNDS ? 1 + Math.floor(round / 2) : random.integer(1, STEPPED_ROUNDS / 2);
    const { child, exited } = startArchiver(world, isTimed ? 0 : calls, round % 2 === 0 ? "before" : "after");
    if (isTimed) setTimeout(() => child.kill("SIGKILL"), random.integer(100, 700));
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
