import { createNoteKey, openArchive, openKeyring } from "@reprise/archive";
import { type Broker, createWriterName } from "@reprise/broker";
import { expect } from "vitest";
import { GenerationKeys } from "../../archiving/generation-keys.ts";
import { archiveLane, type LaneOptions } from "../../archiving/lane/lane-archiver.ts";
import { laneStreams } from "../../archiving/lane/lane-kind.ts";
import { MASTER_KEY, SIGNING_SEED } from "../test-keys.ts";
import { verifyStore } from "../verify-store.ts";
import { keepErrors } from "../keep-errors.ts";
import { openWrittenLogs, SHARDS, type Stores, type WrittenLogs } from "../written-logs.ts";

/** Logs that are written, and archivers that meet faults of their stores. */
export interface FaultyWorld extends WrittenLogs {
  startArchiver(stores: Stores, options?: ArchiverOptions): Promise<RunningArchiver>;
  /** The archive is in order, too. */
  expectExactlyOnce(stores: Stores): Promise<void>;
}

export type ArchiverOptions = Pick<LaneOptions, "closeMs">;

export interface RunningArchiver {
  /** The errors that delayed it. */
  readonly errors: readonly unknown[];
  /** Number of times that it was fenced because another archiver has a stream. It continues at once. */
  readonly fenced: number;
  stop(): Promise<void>;
}

const LIMITS = { maxMessages: 40, maxAgeMs: 30, maxBytes: 1_000_000 };

export async function openFaultyWorld(): Promise<FaultyWorld> {
  const logs = await openWrittenLogs(["acme", "beta"], 4);
  return {
    ...logs,
    startArchiver: (stores, options = {}) => startArchiver(logs.broker, stores, options),
    async expectExactlyOnce(stores) {
      await logs.expectExactlyOnce(stores);
      // The checkpoint comes after the last commit.
      await expect.poll(() => verifyStore(stores.archive)).toEqual([]);
    },
  };
}

async function startArchiver(
  broker: Broker,
  { archive: store, keys }: Stores,
  { closeMs }: ArchiverOptions,
): Promise<RunningArchiver> {
  const errors: unknown[] = [];
  const onError = keepErrors(errors);
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
