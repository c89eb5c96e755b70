import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createFileStore, openArchive, openKeyring } from "@reprise/archive";
import { createGenerationLog, openBroker } from "@reprise/log";
import {
  createGenerationId,
  encodeEvent,
  type GenerationRef,
  logSubject,
  parseTenantId,
  streamOf,
} from "@reprise/protocol";
import { createSeededRandom, createTempDir, startTestBroker } from "@reprise/testkit";
import { expect, test } from "vitest";
import { readWholeArchive } from "./testing/read-archive.ts";
import { MASTER_KEY } from "./testing/test-keys.ts";

const SHARDS = 2;
const ROUNDS = Number(process.env["AUDIT_CRASH_ROUNDS"] ?? 36);
const SEED = Number(process.env["AUDIT_CRASH_SEED"] ?? 5);
/** A batch makes at least half as many changes to its stores. */
const STEPPED_ROUNDS = 20;
const SCRIPT = fileURLToPath(new URL("testing/crashing-archiver.ts", import.meta.url));

/** Some tenants' generations, and all that was stored of them. */
async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const dir = stack.use(await createTempDir("audit-crashes"));
  const broker = stack.use(
    await openBroker({ url: server.url, name: "test", shards: SHARDS, replicas: 1, retentionMs: 3_600_000 }),
  );
  const log = createGenerationLog(broker, (error) => expect.unreachable(String(error)));
  stack.defer(() => log.close());
  const refs: GenerationRef[] = ["acme", "beta", "gamma"].flatMap((tenant) =>
    Array.from({ length: 5 }, () => ({
      tenant: parseTenantId(tenant),
      generation: createGenerationId(randomBytes(17), SHARDS),
    })),
  );
  const stored = new Map<GenerationRef, string[]>(refs.map((ref) => [ref, []]));
  const lasts = new Map<string, number>();
  const kept = stack.move();
  return {
    url: server.url,
    dir: dir.path,
    stored,
    lasts,
    /** Stores events of all generations, in turn. */
    async write(rounds: number) {
      for (let i = 0; i < rounds; i++) {
        for (const [ref, payloads] of stored) {
          const seq = payloads.length;
          const payload = encodeEvent(seq, { type: "output.delta", text: `${ref.tenant} ${seq}` });
          const outcome = await log.publish(logSubject(ref), payload, {});
          if (outcome.kind !== "stored") throw new Error(outcome.kind);
          payloads.push(Buffer.from(payload).toString());
          lasts.set(streamOf(ref.generation), outcome.streamSeq);
        }
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

function startArchiver({ url, dir }: World, calls: number, when: "before" | "after") {
  const child = spawn(process.execPath, [SCRIPT, url, dir, `${SHARDS}`, `${calls}`, when], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  return { child, exited: once(child, "close"), ready: once(child.stdout, "data") };
}

async function openCopy({ dir }: World) {
  const archive = await openArchive({ store: createFileStore(join(dir, "archive")), name: "test" });
  const keyring = await openKeyring({ store: createFileStore(join(dir, "keys")), masterKey: MASTER_KEY });
  return { archive, keyring };
}

/** Waits until everything is archived. */
async function untilArchived(world: World) {
  const { archive, keyring } = await openCopy(world);
  const isDone = async () => {
    await archive.refresh();
    return [...world.lasts].every(([stream, last]) => archive.state.lanes.get(stream)?.last === last);
  };
  await expect.poll(isDone, { interval: 50 }).toBe(true);
  return { archive, keyring };
}

/** Each message once, of whom it is, in its order. */
async function expectExactlyOnce(world: World) {
  const { archive, keyring } = await untilArchived(world);
  const found = await readWholeArchive(archive, keyring);
  for (const [{ tenant, generation }, payloads] of world.stored) {
    const mine = found.filter(({ header }) => header.generation === generation);
    expect(new Set(mine.map(({ header }) => header.tenant))).toEqual(new Set([tenant]));
    const inOrder = mine.toSorted((a, b) => a.streamSeq - b.streamSeq).map(({ payload }) => payload);
    expect(inOrder).toEqual(payloads);
  }
  expect(found).toHaveLength([...world.stored.values()].flat().length);
}

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
  await expectExactlyOnce(world);
  child.kill("SIGTERM");
  await exited;
});

test("of two archivers of the same streams one stops by itself, and nothing is archived twice", async () => {
  await using world = await openWorld();
  await world.write(20);
  const both = [startArchiver(world, 0, "before"), startArchiver(world, 0, "before")];
  await Promise.all(both.map(({ ready }) => ready));
  await world.write(40);
  await expectExactlyOnce(world);
  const [first] = both;
  first!.child.kill("SIGTERM");
  await world.write(5);
  for (const { child } of both) child.kill("SIGTERM");
  await Promise.all(both.map(({ exited }) => exited));
  const { child, exited } = startArchiver(world, 0, "before");
  await expectExactlyOnce(world);
  child.kill("SIGTERM");
  await exited;
});
