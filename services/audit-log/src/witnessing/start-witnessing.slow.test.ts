import { cp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import {
  ARCHIVE_TREE,
  checkpointKey,
  commitKey,
  cosignedAt,
  cosignedKey,
  createFileStore,
  createNoteKey,
  encodeCheckpoint,
  openArchive,
  openTree,
  parseCheckpoint,
  parseNote,
  signNote,
} from "@reprise/archive";
import {
  completed,
  createRef,
  createTempDir,
  delta,
  requested,
  startTcpProxy,
  startWitnessProcess,
  type WitnessProcess,
} from "@reprise/testkit";
import { createLogger, createMetrics, DependencyWatches } from "@reprise/runtime";
import { expect, test } from "vitest";
import { openFilledArchive } from "../testing/filled-archive.ts";
import { SIGNING_SEED } from "../testing/test-keys.ts";
import { archiveCheckpoint } from "./signed-checkpoints.ts";
import { startWitnessing } from "./start-witnessing.ts";
import { submitCheckpoint } from "./submit-checkpoint.ts";

const NOON_US = Date.parse("2026-11-21T12:00:00.000Z") * 1_000;
const ORIGIN = `test/${ARCHIVE_TREE}`;
const signer = createNoteKey("test", SIGNING_SEED);

/** An archive that grows by a commit whenever it is told to, and a folder for witnesses. */
async function openWorld() {
  await using stack = new AsyncDisposableStack();
  const filled = stack.use(await openFilledArchive());
  const { path } = stack.use(await createTempDir("witness"));
  const errors: unknown[] = [];
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const logger = createLogger({ service: "audit-log", destination: { write } });
  const watches = stack.use(new DependencyWatches({ service: "audit-log", logger }));
  const metrics = createMetrics({ processMetrics: false });
  const { archive } = filled;
  const kept = stack.move();
  return {
    archive,
    dir: filled.dir,
    witnessDir: path,
    errors,
    lines,
    watches,
    logger,
    metrics,
    async grow(tenant = "acme") {
      const ref = createRef(tenant);
      filled.log(ref, [requested(ref), delta("x"), completed()], NOON_US);
      await filled.commit();
    },
    startWitness: (port?: number) =>
      startWitnessProcess({ dir: path, logs: [signer], ...(port !== undefined && { port }) }),
    witnessing: (...urls: string[]) =>
      startWitnessing({
        closeMs: 100,
        archive,
        urls,
        pollMs: 5,
        timeoutMs: 60_000,
        watches,
        logger,
        metrics,
        onError: (error) => errors.push(error),
      }),
    /** Returns the size of the tree that this witness has cosigned, as stored in the archive. */
    async cosigned(tree: string, { key }: WitnessProcess) {
      const bytes = await archive.store.get(cosignedKey(tree));
      const note = bytes && Buffer.from(bytes).toString();
      return note && cosignedAt(note, key) !== undefined ? sizeOf(note) : 0;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

function sizeOf(note: string): number {
  return parseCheckpoint(parseNote(note).text).size;
}

/** Submits the checkpoint of the archive's own tree as if nothing were known of what the witness has seen. */
async function submitNow({ archive }: Pick<World, "archive">, url: string, timeoutMs = 60_000) {
  const checkpoint = await archiveCheckpoint(archive);
  return submitCheckpoint({
    ...checkpoint!,
    url,
    hashes: openTree(archive, ARCHIVE_TREE).hashes,
    seenSize: 0,
    timeoutMs,
    signal: new AbortController().signal,
  });
}

/** The archive with its first commits alone, signed by its own key, as a holder of that key makes it who cuts off the end. */
async function cutBack({ archive, dir }: World, to: string, commits: number) {
  await cp(dir, to, { recursive: true });
  const store = createFileStore(to);
  for (let n = commits; n < archive.state.next; n++) await store.delete(commitKey(n));
  await rm(join(to, "cosigned"), { recursive: true, force: true });
  const { state } = await openArchive({ store, name: "test" });
  const { size } = state.archiveTree;
  const note = signNote(encodeCheckpoint({ origin: ORIGIN, size, root: state.archiveTree.root() }), [signer]);
  await store.put(checkpointKey(ARCHIVE_TREE), Buffer.from(note));
  return store;
}

test("a witness cosigns the archive's own tree and those of its tenants as they grow", async () => {
  await using world = await openWorld();
  await using witness = await world.startWitness();
  await world.grow("acme");
  await using _ = world.witnessing(witness.url);
  const seen = () => Promise.all([ARCHIVE_TREE, "acme", "beta"].map((tree) => world.cosigned(tree, witness)));
  await expect.poll(seen).toEqual([1, 1, 0]);
  await world.grow("acme");
  await world.grow("beta");
  await expect.poll(seen).toEqual([3, 2, 1]);
  expect(sizeOf((await witness.latest("test/acme"))!)).toBe(2);
  expect(world.errors).toEqual([]);
});

test("what was committed last is cosigned when the service closes", async () => {
  await using world = await openWorld();
  await using witness = await world.startWitness();
  const witnessing = startWitnessing({
    archive: world.archive,
    urls: [witness.url],
    pollMs: 60_000,
    closeMs: 60_000,
    watches: world.watches,
    logger: world.logger,
    metrics: world.metrics,
    onError: (error) => world.errors.push(error),
  });
  await world.grow();
  await witnessing[Symbol.asyncDispose]();
  expect(await world.cosigned(ARCHIVE_TREE, witness)).toBe(1);
  expect(await world.cosigned("acme", witness)).toBe(1);
  expect(world.errors).toEqual([]);
});

test("what is cosigned stays so in a log of more leaves than a tile", async () => {
  await using world = await openWorld();
  await using witness = await world.startWitness();
  await world.grow();
  await using _ = world.witnessing(witness.url);
  await expect.poll(() => world.cosigned(ARCHIVE_TREE, witness)).toBe(1);
  for (let i = 0; i < 300; i++) await world.archive.append(() => ({ tenants: [] }));
  await expect.poll(() => world.cosigned(ARCHIVE_TREE, witness)).toBe(301);
  expect(world.errors).toEqual([]);
});

test("a witness remembers what it has seen, and its key, when it is killed", async () => {
  await using world = await openWorld();
  await using before = await world.startWitness();
  await world.grow();
  await world.grow();
  expect(await submitNow(world, before.url)).toMatchObject({ kind: "cosigned" });
  const note = await before.latest(ORIGIN);
  await before.kill();
  await using after = await world.startWitness();
  expect(after.key.vkey).toBe(before.key.vkey);
  expect(await after.latest(ORIGIN)).toBe(note);
  const store = await cutBack(world, join(world.witnessDir, "old"), 1);
  const archive = await openArchive({ store, name: "test" });
  expect(await submitNow({ archive }, after.url)).toEqual({ kind: "ahead", size: 2 });
  expect(await after.stop()).toBe(0);
});

test("an archive that lost its end gets no cosignature, and its keeper is told; it archives on", async () => {
  await using world = await openWorld();
  await using witness = await world.startWitness();
  for (let i = 0; i < 3; i++) await world.grow();
  await submitNow(world, witness.url);
  const store = await cutBack(world, join(world.witnessDir, "old"), 2);
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const writer = { name: "forger", signer, onError };
  const archive = await openArchive({ store, name: "test", writer });
  const { watches, logger, metrics } = world;
  await using _ = startWitnessing({
    archive,
    urls: [witness.url],
    watches,
    logger,
    metrics,
    onError,
    pollMs: 5,
  });
  const alarms = () => errors.map((error) => (error as { code: string }).code);
  // First as long as before, then longer, but with other commits: neither extends the tree that was cosigned.
  await archive.append(() => ({ tenants: [] }));
  await expect.poll(alarms).toEqual(["archive_corrupt"]);
  await archive.append(() => ({ tenants: [] }));
  await expect.poll(alarms).toEqual(["archive_corrupt", "archive_corrupt"]);
  expect(sizeOf((await witness.latest(ORIGIN))!)).toBe(3);
});

test("a witness that is away holds up neither the archive nor another witness, and gets it all later", async () => {
  await using world = await openWorld();
  await using late = await createTempDir("late-witness");
  // Nothing listens at port 1.
  const target = { port: 1 };
  await using way = await startTcpProxy({ target: () => target });
  const { port } = way;
  await using witness = await world.startWitness();
  await using _ = world.witnessing(`http://127.0.0.1:${port}`, witness.url);
  await world.grow();
  await expect.poll(() => world.cosigned(ARCHIVE_TREE, witness)).toBe(1);
  await expect
    .poll(() => world.lines)
    .toMatchObject([{ msg: "a witness cosigns nothing; archiving continues", witness: `127.0.0.1:${port}` }]);
  const lags = async () =>
    [...(await world.metrics.render()).matchAll(/^reprise_witness_lag_size.* (\d+)$/gm)].map(
      ([, lag]) => lag,
    );
  expect(new Set(await lags())).toEqual(new Set(["0", "1"]));
  await using other = await startWitnessProcess({ dir: late.path, logs: [signer] });
  target.port = Number(new URL(other.url).port);
  const both = () => Promise.all([witness, other].map((each) => world.cosigned(ARCHIVE_TREE, each)));
  await expect.poll(both).toEqual([1, 1]);
  expect(world.lines.slice(1)).toMatchObject([{ msg: "a witness cosigns again" }]);
  await expect.poll(lags).toEqual(["0", "0"]);
  // What an archive's failure is said to be would make its process unready.
  expect(world.errors).toEqual([]);
});

test("a witness that never answers is given up after its time, and does not keep a process from ending", async () => {
  await using world = await openWorld();
  await using silent = createServer(() => undefined);
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  await world.grow();
  const asked = once(silent, "request");
  {
    await using _ = world.witnessing(`http://127.0.0.1:${port}`);
    await asked;
  }
  expect(world.lines).toMatchObject([
    { level: "warn", msg: "what was committed last is cosigned after the next start" },
  ]);
  await expect(submitNow(world, `http://127.0.0.1:${port}`, 20)).rejects.toMatchObject({
    code: "archive_unavailable",
  });
  silent.closeAllConnections();
});

test("a witness that does not know the archive is told of as a matter of configuration", async () => {
  await using world = await openWorld();
  await using witness = await startWitnessProcess({
    dir: world.witnessDir,
    logs: [createNoteKey("other", SIGNING_SEED)],
  });
  await world.grow();
  await expect(submitNow(world, witness.url)).rejects.toMatchObject({ code: "config_invalid" });
});
