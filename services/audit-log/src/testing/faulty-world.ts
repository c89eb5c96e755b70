import { randomBytes } from "node:crypto";
import { type BlobStore, createNoteKey, openArchive, openKeyring } from "@reprise/archive";
import { type Broker, createGenerationLog, createWriterName, openBroker, type Publish } from "@reprise/log";
import {
  createGenerationId,
  encodeEvent,
  type GenerationRef,
  logSubject,
  parseTenantId,
  streamOf,
} from "@reprise/protocol";
import { startTestBroker } from "@reprise/testkit";
import { expect } from "vitest";
import { GenerationKeys } from "../archiving/generation-keys.ts";
import { archiveLane, type LaneOptions } from "../archiving/lane-archiver.ts";
import { laneStreams } from "../archiving/lane-kind.ts";
import { readWholeArchive } from "./read-archive.ts";
import { MASTER_KEY, SIGNING_SEED } from "./test-keys.ts";
import { verifyStore } from "./verify-store.ts";

/** Where an archive and its keys lie, as one process sees them. */
export interface Stores {
  readonly archive: BlobStore;
  readonly keys: BlobStore;
}

/** Generations of some tenants in a broker, and archivers that meet faults of their stores. */
export interface FaultyWorld extends AsyncDisposable {
  readonly broker: Broker;
  readonly publish: Publish;
  /** Stores so many events of each generation, in turn. */
  write(rounds: number): Promise<void>;
  startArchiver(stores: Stores, options?: ArchiverOptions): Promise<RunningArchiver>;
  /** Waits until everything is archived; then each message is there once, of whom it is, in its order, and the archive is in order. */
  expectExactlyOnce(stores: Stores): Promise<void>;
}

export type ArchiverOptions = Pick<LaneOptions, "closeMs">;

export interface RunningArchiver {
  /** What it was held up by. */
  readonly errors: readonly unknown[];
  /** How often it was told that somebody else archives a stream. It goes on at once. */
  readonly fenced: number;
  stop(): Promise<void>;
}

const SHARDS = 2;
const LIMITS = { maxMessages: 40, maxAgeMs: 30, maxBytes: 1_000_000 };

export async function openFaultyWorld(): Promise<FaultyWorld> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };
  const broker = stack.use(await openBroker({ url: server.url, name: "test", ...topology }));
  const log = createGenerationLog(broker, (error) => expect.unreachable(String(error)));
  stack.defer(() => log.close());
  const stored = new Map<GenerationRef, string[]>();
  for (const tenant of ["acme", "beta"]) {
    for (let i = 0; i < 4; i++) {
      const generation = createGenerationId(randomBytes(17), SHARDS);
      stored.set({ tenant: parseTenantId(tenant), generation }, []);
    }
  }
  const lasts = new Map<string, number>();
  const kept = stack.move();
  return {
    broker,
    publish: log.publish,
    async write(rounds) {
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
    startArchiver: (stores, options = {}) => startArchiver(broker, stores, options),
    async expectExactlyOnce(stores) {
      const { archive, keyring } = await openAgain(stores);
      const isDone = async () => {
        await archive.refresh();
        return [...lasts].every(([stream, last]) => archive.state.lanes.get(stream)?.last === last);
      };
      await expect.poll(isDone, { interval: 50 }).toBe(true);
      const found = await readWholeArchive(archive, keyring);
      for (const [{ tenant, generation }, payloads] of stored) {
        const mine = found.filter(({ header }) => header.generation === generation);
        expect(new Set(mine.map(({ header }) => header.tenant))).toEqual(new Set([tenant]));
        const inOrder = mine.toSorted((a, b) => a.streamSeq - b.streamSeq);
        expect(inOrder.map(({ payload }) => payload)).toEqual(payloads);
      }
      expect(found).toHaveLength([...stored.values()].flat().length);
      // The checkpoint comes behind the last commit.
      await expect.poll(() => verifyStore(stores.archive)).toEqual([]);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function openAgain({ archive: store, keys }: Stores) {
  const archive = await openArchive({ store, name: "test" });
  return { archive, keyring: await openKeyring({ store: keys, masterKey: MASTER_KEY }) };
}

async function startArchiver(
  broker: Broker,
  { archive: store, keys }: Stores,
  { closeMs }: ArchiverOptions,
): Promise<RunningArchiver> {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  const keyring = await openKeyring({ store: keys, masterKey: MASTER_KEY });
  const writer = { name: createWriterName(), signer: createNoteKey("test", SIGNING_SEED), onError };
  const archive = await openArchive({ store, name: "test", writer });
  const stopping = new AbortController();
  let fenced = 0;
  const follow = async (stream: string) => {
    const context = { connection: broker.reads, archive, store, keyring, limits: LIMITS, closeMs, onError };
    const options = { ...context, stream, keys: new GenerationKeys(archive, keyring), onCommitted: () => {} };
    while ((await archiveLane(options, stopping.signal)) === "fenced") fenced++;
  };
  const running = Promise.all(laneStreams(SHARDS).map(follow));
  return {
    errors,
    get fenced() {
      return fenced;
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
