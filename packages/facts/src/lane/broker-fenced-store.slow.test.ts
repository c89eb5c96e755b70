import { randomBytes } from "node:crypto";
import { type BlobStore, createS3Store } from "@reprise/archive";
import {
  createFaultyStore,
  createMemoryStore,
  describeBlobStore,
  dyingAt,
  startS3Server,
} from "@reprise/archive/testing";
import { type Broker, openBroker, type Publish, readStreamInfo } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { COMMITS_STREAM, commitSubject } from "@reprise/protocol";
import { startTestBroker, untilAnswered } from "@reprise/testkit";
import { expect, test } from "vitest";
import { createBrokerFencedStore } from "./broker-fenced-store.ts";

const onError = (error: unknown) => expect.unreachable(String(error));
const TOPOLOGY = { shards: 1, replicas: 1, retentionMs: 3_600_000 };
const [mine, theirs] = [Buffer.from("mine"), Buffer.from("theirs")];

interface Fence extends AsyncDisposable {
  readonly broker: Broker;
  readonly publish: Publish;
  /** Errors that the fence has reported. */
  readonly errors: readonly unknown[];
  /** Fences a store for one archive. */
  open(store: BlobStore): BlobStore;
  /** Has the broker store an answer where the claim of a key belongs, as a service that is broken into can. */
  forge(key: string): Promise<void>;
}

async function openFence(): Promise<Fence> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const broker = stack.use(
    await untilAnswered(() => openBroker({ url: server.url, name: "test", onError, ...TOPOLOGY })),
  );
  const log = createGenerationLog(broker);
  const archive = `archive-${randomBytes(6).toString("hex")}`;
  const kept = stack.move();
  const { publish } = log;
  const errors: unknown[] = [];
  const options = { broker, publish, archive, onError: (error: unknown) => void errors.push(error) };
  return {
    broker,
    publish,
    errors,
    open: (store) => createBrokerFencedStore(store, options),
    async forge(key) {
      const { lastStreamSeq } = await readStreamInfo(broker.main, COMMITS_STREAM);
      const last = JSON.stringify({ seq: Math.max(1, lastStreamSeq), no_hdr: true });
      const reply = commitSubject(archive, key);
      broker.main.publish(`$JS.API.DIRECT.GET.${COMMITS_STREAM}`, last, { reply });
      await expect
        .poll(async () => (await readStreamInfo(broker.main, COMMITS_STREAM)).lastStreamSeq)
        .toBe(lastStreamSeq + 1);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** A store that takes every create for a put, and waits a moment first. */
function openUnconditional(): BlobStore {
  const store = createMemoryStore();
  const put: BlobStore["put"] = async (key, bytes) => {
    await new Promise((resolve) => setImmediate(resolve));
    await store.put(key, bytes);
  };
  return { ...store, put, create: async (key, bytes) => (await put(key, bytes), "created") };
}

describeBlobStore("a bucket that knows no conditions, fenced by the broker", async () => {
  await using stack = new AsyncDisposableStack();
  const fence = stack.use(await openFence());
  const server = stack.use(await startS3Server({ conditions: "ignored" }));
  const kept = stack.move();
  return {
    open: () => fence.open(createS3Store(server)),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
});

const SIZES = [
  { what: "a few bytes", size: 100 },
  { what: "more bytes than the broker is handed", size: 3_000_000 },
];
test.for(SIZES)(
  "a writer that dies at any step of creating $what leaves nothing half done",
  async ({ size }) => {
    await using fence = await openFence();
    const [bytes, others] = [Buffer.alloc(size, "a"), Buffer.alloc(size, "b")];
    for (const when of ["before", "after"] as const) {
      for (let step = 0, isDone = false; !isDone; step++) {
        const store = openUnconditional();
        const key = `log/${when}-${step}`;
        const dying = fence.open(createFaultyStore(store, dyingAt(step, when)));
        const outcome = await dying.create(key, bytes).catch(() => undefined);
        isDone = outcome !== undefined;
        const next = await fence.open(store).create(key, others);
        const there = Buffer.from((await store.get(key))!);
        // The caller that got "created" was first; the first may also learn later that it was.
        expect([next, there.equals(others)]).toEqual(
          next === "created" ? ["created", true] : ["exists", false],
        );
        expect(there.equals(bytes) || there.equals(others)).toBe(true);
        expect(await fence.open(store).create(key, bytes)).toBe(there.equals(bytes) ? "created" : "exists");
        expect([undefined, there.equals(bytes) ? "created" : "exists"]).toContain(outcome);
      }
    }
  },
);

test("what many create at once is one object, also when it is larger than what the broker is handed", async () => {
  await using fence = await openFence();
  const store = openUnconditional();
  for (const size of [10, 2_000_000]) {
    const tries = Array.from({ length: 6 }, (_, i) =>
      fence.open(store).create(`log/${size}`, Buffer.alloc(size, `${i}`)),
    );
    const outcomes = await Promise.all(tries);
    expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
    const there = Buffer.from((await store.get(`log/${size}`))!);
    expect(there.equals(Buffer.alloc(size, `${outcomes.indexOf("created")}`))).toBe(true);
  }
  expect((await Array.fromAsync(store.list("_claim/"))).length).toBe(0);
});

test("what the broker has forgotten is not created a second time", async () => {
  await using fence = await openFence();
  const store = openUnconditional();
  await store.put("log/1", theirs);
  expect(await fence.open(store).create("log/1", mine)).toBe("exists");
  expect(await store.get("log/1")).toEqual(Uint8Array.from(theirs));
});

test("a broker that does not answer makes the store unavailable, and nothing is written", async () => {
  await using fence = await openFence();
  const store = openUnconditional();
  const publish: Publish = async () => ({ kind: "unavailable", reason: "timeout" });
  const deaf = createBrokerFencedStore(store, { broker: fence.broker, publish, archive: "deaf", onError });
  await expect(deaf.create("log/1", mine)).rejects.toMatchObject({ code: "archive_unavailable" });
  const conflict: Publish = async () => ({ kind: "conflict" });
  const forgetful = createBrokerFencedStore(store, {
    broker: fence.broker,
    publish: conflict,
    archive: "new",
    onError,
  });
  await expect(forgetful.create("log/1", mine)).rejects.toMatchObject({ code: "archive_unavailable" });
  await fence.broker.close();
  await expect(forgetful.create("log/1", mine)).rejects.toMatchObject({ code: "archive_unavailable" });
  expect(await Array.fromAsync(store.list(""))).toEqual([]);
});

const REFUSED = { code: "protocol_violation" };

test("answers that a service has the broker store in place of a claim are told and passed over: one of many writers is first", async () => {
  await using fence = await openFence();
  const store = openUnconditional();
  for (let i = 0; i < 3; i++) await fence.forge("log/1");
  const writers = Array.from({ length: 4 }, (_, i) => fence.open(store).create("log/1", Buffer.from(`${i}`)));
  const outcomes = await Promise.all(writers);
  expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(1);
  expect(Buffer.from((await store.get("log/1"))!).toString()).toBe(`${outcomes.indexOf("created")}`);
  expect(fence.errors.length).toBeGreaterThanOrEqual(3);
  for (const error of fence.errors) expect(error).toMatchObject(REFUSED);
  expect(await fence.open(store).create("log/1", mine)).toBe("exists");
});

test("such an answer after a claim does not replace it, so a writer that has claimed and not stored yet loses nothing", async () => {
  await using fence = await openFence();
  const store = openUnconditional();
  const slow = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const put: BlobStore["put"] = async (key, bytes) => {
    reached.resolve();
    await slow.promise;
    await store.put(key, bytes);
  };
  const first = fence.open({ ...store, put }).create("log/1", mine);
  await reached.promise;
  await fence.forge("log/1");
  expect(await fence.open(store).create("log/1", theirs)).toBe("exists");
  expect(await store.get("log/1")).toEqual(Uint8Array.from(mine));
  slow.resolve();
  expect(await first).toBe("created");
});
