import { expect, test, vi } from "vitest";
import type { BlobStore } from "@reprise/archive";
import type { Appender } from "@reprise/stream";
import { opsSubject, streamOf } from "@reprise/protocol";
import { completed, createRef, delta, started } from "@reprise/testkit";
import {
  archivedUpTo,
  findingsIn,
  openLifecycleWorld,
  SETTLE_MS,
  writeLog,
} from "../../testing/worlds/lifecycle-world.ts";
import { readableTexts, streamsWith } from "../../testing/search-stores.ts";
import { eraseSubject, type ErasureRequest } from "./erase.ts";
import { erasuresIn } from "../../records/erasures.ts";
import { requestDraft } from "../../records/request-draft.ts";

const { tenant } = createRef();
const who: Omit<ErasureRequest, "subject"> = { tenant, by: "operator", reason: "a test" };
const settle = { settleMs: SETTLE_MS };

/** A store at which commits wait for a gate. */
function gate(store: BlobStore) {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const gated: BlobStore = {
    get: (key, range) => store.get(key, range),
    list: (prefix) => store.list(prefix),
    put: (key, bytes) => store.put(key, bytes),
    delete: (key) => store.delete(key),
    async create(key, bytes) {
      reached.resolve();
      await opened.promise;
      return store.create(key, bytes);
    },
  };
  return { gated, reached: reached.promise, open: opened.resolve };
}

test("what an archiver has sealed and not committed when its subject is erased is sealed again, without it", async () => {
  await using world = await openLifecycleWorld();
  const { gated, reached, open } = gate(world.store);
  const [ref, other] = [createRef(), createRef()];
  await writeLog(world.live.log, ref, { subject: "ann" }, [started(), delta("secret"), completed()]);
  await writeLog(world.live.log, other, { subject: "bob" }, [delta("public"), completed()]);
  await using archiver = await world.startArchiver({ store: gated });
  await reached;
  await eraseSubject(await world.openContext(), { ...who, subject: "ann" }, settle);
  open();
  await archivedUpTo(world, "public");
  await archiver.stop();

  const { keyring, archive } = await world.openContext();
  const texts = await readableTexts(world.store, keyring);
  expect(texts.filter((text) => text.includes("secret"))).toEqual([]);
  expect(texts.filter((text) => text.includes("public"))).toHaveLength(1);
  const stored = await Array.fromAsync(world.store.list("data/"));
  expect(stored.map(({ key }) => key)).toEqual(archive.state.files(tenant).map(({ key }) => key));
  expect(await findingsIn(world)).toEqual([]);
});

test("a generation that begins while its subject is erased, and is sealed with the old key, is erased as well", async () => {
  await using world = await openLifecycleWorld();
  const { live } = world;
  const [before, meanwhile, after] = [createRef(), createRef(), createRef()];
  const subject = { subject: "ann" };
  // This archiver has the key in memory, and does not check again for as long as the test runs.
  const stream = streamOf(before.generation);
  await using archiver = await world.startArchiver({ clockRate: 0, streams: [stream] });
  const watched = await world.openContext();
  const archivedTo = async () => {
    await watched.archive.refresh();
    return watched.archive.state.lanes.get(stream)?.last;
  };
  const archivedAll = ({ head }: Appender) => expect.poll(archivedTo).toBeGreaterThanOrEqual(head.streamSeq);
  // All of it, for a batch that was sealed and not committed before the erasure would tell the archiver that the key is gone.
  await archivedAll(await writeLog(live.log, before, subject, [delta("first"), completed()]));
  // The key is destroyed, and the nodes are about to be told of it: the erasure continues after the archiver has sealed another segment.
  const [gone, sealed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const publish: typeof live.log.publish = async (to, ...message) => {
    if (to === opsSubject("erased", tenant, before.generation)) {
      gone.resolve();
      await sealed.promise;
    }
    return live.log.publish(to, ...message);
  };
  const held = { ...(await world.openContext()), live: { ...live, log: { ...live.log, publish } } };
  const erasing = eraseSubject(held, { ...who, ...subject }, settle);
  await gone.promise;
  await archivedAll(await writeLog(live.log, meanwhile, subject, [delta("second"), completed()]));
  sealed.resolve();
  const generations = [before, meanwhile].map(({ generation }) => generation).toSorted();
  expect(await erasing).toMatchObject({ certificate: { generations } });
  await archiver.stop();
  expect(await streamsWith(live.broker, "second")).toEqual([]);

  await using later = await world.startArchiver();
  await writeLog(live.log, after, subject, [delta("third"), completed()]);
  await archivedUpTo(world, "third");
  await later.stop();
  expect(await findingsIn(world)).toEqual([]);
});

test("an erasure into which another process takes something at the last moment is finished with that", async () => {
  await using world = await openLifecycleWorld();
  await using archiver = await world.startArchiver();
  const [own, others] = [createRef(), createRef()];
  await writeLog(world.live.log, own, { subject: "ann" }, [delta("first"), completed()]);
  await writeLog(world.live.log, others, { subject: "bob" }, [delta("second"), completed()]);
  for (const text of ["first", "second"]) await archivedUpTo(world, text);
  const [context, elsewhere] = [await world.openContext(), await world.openContext()];
  const { archive } = context;
  const append = archive.append.bind(archive);
  let taken = 0;
  vi.spyOn(archive, "append").mockImplementation(async (make, ...rest) => {
    const draft = await make(archive.state);
    if (draft?.tenants[0]?.records[0]?.kind === "key_destroyed" && taken++ === 0) {
      const [erasure] = erasuresIn(archive.state.records(tenant));
      const more = { ...erasure!, generations: [...erasure!.generations, others.generation] };
      const said = { purged: {}, at: new Date().toISOString() };
      await elsewhere.archive.refresh();
      await elsewhere.archive.append((state) => requestDraft(state, tenant, more, said));
    }
    return append(make, ...rest);
  });
  const generations = [own, others].map(({ generation }) => generation).toSorted();
  expect(await eraseSubject(context, { ...who, subject: "ann" }, settle)).toMatchObject({
    certificate: { generations },
  });
  await archiver.stop();
  expect(await streamsWith(world.live.broker, "second")).toEqual([]);
  expect(await findingsIn(world)).toEqual([]);
});

test.each(["before", "after"] as const)(
  "an erasure that ends %s any of its changes is finished by the next call",
  async (when) => {
    await using world = await openLifecycleWorld();
    await using archiver = await world.startArchiver();
    let interrupted = 0;
    for (let calls = 1, isWhole = false; !isWhole; calls++) {
      const subject = `person-${calls}`;
      const secret = `secret-${calls}.`;
      await writeLog(world.live.log, createRef(), { subject }, [delta(secret), completed()]);
      await archivedUpTo(world, secret);
      const interruption = { left: Number.POSITIVE_INFINITY, when };
      const dying = {
        ...(await world.openContext({ keyStore: createInterruptedStore(world.keyStore(), interruption) })),
        store: world.store,
      };
      const stores = { store: createInterruptedStore(world.store, interruption) };
      const { archive } = await world.openContext(stores);
      interruption.left = calls;
      const first = await eraseSubject({ ...dying, archive }, { ...who, subject }, settle).catch(
        (error: Error) => error.message,
      );
      isWhole = typeof first !== "string";
      interrupted += isWhole ? 0 : 1;
      const clean = await world.openContext();
      expect(await eraseSubject(clean, { ...who, subject }, settle)).toMatchObject({ kind: "erased" });
      expect(erasuresIn(clean.archive.state.records(tenant))).toHaveLength(calls);
      expect(await readableTexts(world.store, clean.keyring)).not.toContainEqual(
        expect.stringContaining(secret),
      );
      expect(await streamsWith(world.live.broker, secret)).toEqual([]);
    }
    await archiver.stop();
    expect(interrupted).toBeGreaterThan(4);
    expect(await findingsIn(world)).toEqual([]);
  },
);

/** Counts changes of stores down to the one at which their process ends. */
interface Interruption {
  /** Changes until then. */
  left: number;
  /** Moment of the end: before or after the last change. */
  readonly when: "before" | "after";
}

/** A store whose process ends at one of its changes: that call and all later ones fail. */
function createInterruptedStore(store: BlobStore, interruption: Interruption): BlobStore {
  const change = async <T>(work: () => Promise<T>): Promise<T> => {
    interruption.left--;
    if (interruption.left < 0 || (interruption.left === 0 && interruption.when === "before")) throw ended();
    const result = await work();
    if (interruption.left === 0) throw ended();
    return result;
  };
  return {
    get: (key, range) => store.get(key, range),
    list: (prefix) => store.list(prefix),
    put: (key, bytes) => change(() => store.put(key, bytes)),
    create: (key, bytes) => change(() => store.create(key, bytes)),
    delete: (key) => change(() => store.delete(key)),
  };
}

function ended(): Error {
  return new Error("the process has ended here");
}
