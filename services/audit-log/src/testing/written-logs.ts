import { type BlobStore, openArchive, openKeyring } from "@reprise/archive";
import { type Broker, openBroker, type Publish } from "@reprise/broker";
import { createGenerationLog } from "@reprise/stream";
import { encodeEvent, type GenerationRef, logSubject, streamOf, asSeq } from "@reprise/protocol";
import { createRef, PATIENCE_MS, startTestBroker } from "@reprise/testkit";
import { expect } from "vitest";
import { readWholeArchive } from "./read-archive.ts";
import { MASTER_KEY } from "./test-keys.ts";

/** Where an archive and its keys lie, as one process sees them. */
export interface Stores {
  readonly archive: BlobStore;
  readonly keys: BlobStore;
}

/** Generations of some tenants in a broker, and all that was stored of them. */
export interface WrittenLogs extends AsyncDisposable {
  readonly url: string;
  readonly broker: Broker;
  readonly publish: Publish;
  /** Stores this many events of each generation, in turn. */
  write(rounds: number): Promise<void>;
  /** Waits until everything is archived; then each message is there once, of whom it is, in its order. */
  expectExactlyOnce(stores: Stores): Promise<void>;
}

export const SHARDS = 2;

/** @param generations of each tenant */
export async function openWrittenLogs(tenants: readonly string[], generations: number): Promise<WrittenLogs> {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startTestBroker());
  const topology = { shards: SHARDS, replicas: 1, retentionMs: 3_600_000 };
  const onError = (error: unknown) => expect.unreachable(String(error));
  const broker = stack.use(await openBroker({ url: server.url, name: "test", onError, ...topology }));
  const log = createGenerationLog(broker);
  const refs = tenants.flatMap((tenant) =>
    Array.from({ length: generations }, () => createRef(tenant, SHARDS)),
  );
  const stored = new Map<GenerationRef, string[]>(refs.map((ref) => [ref, []]));
  const lasts = new Map<string, number>();
  const kept = stack.move();
  return {
    url: server.url,
    broker,
    publish: log.publish,
    async write(rounds) {
      for (let i = 0; i < rounds; i++) {
        for (const [ref, payloads] of stored) {
          const seq = payloads.length;
          const payload = encodeEvent(asSeq(seq), { type: "output.delta", text: `${ref.tenant} ${seq}` });
          const outcome = await log.publish(logSubject(ref), payload, { timeoutMs: PATIENCE_MS });
          if (outcome.kind !== "stored") throw new Error(outcome.kind);
          payloads.push(Buffer.from(payload).toString());
          lasts.set(streamOf(ref.generation), outcome.streamSeq);
        }
      }
    },
    async expectExactlyOnce({ archive: store, keys }) {
      const archive = await openArchive({ store, name: "test" });
      const keyring = await openKeyring({ store: keys, masterKey: MASTER_KEY });
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
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
