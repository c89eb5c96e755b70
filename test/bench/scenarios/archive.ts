import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  ArchiveReader,
  type BlobStore,
  createFileStore,
  createNoteKey,
  openArchive,
  openKeyring,
  verifyArchive,
} from "@reprise/archive";
import { startAuditLog } from "@reprise/audit-log-service";
import { type Broker, connectBroker, readStreamInfo } from "@reprise/broker";
import { FIRST_SEQ, generationsStream } from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { summarize } from "../measure/samples.ts";
import { SHARDS, startBenchBroker } from "../targets/reprise/broker.ts";
import { fillBroker } from "./fill-broker.ts";
import type { RunContext, ScenarioResult } from "./run.ts";

/** The audit log's limits, but without a wait for the last batches, which are not full. */
const LIMITS = { maxMessages: 20_000, maxAgeMs: 250, maxBytes: 16 * 1_024 * 1_024 };
const TENANTS = 10;
const REPLAYS = 200;
const POLL_MS = 20;

/** ARCHIVE: one process archives the broker's backlog to synced files; all of it is verified, every segment opened; generations of it begin to replay. */
export async function runArchive({ settings, quick, signal, say }: RunContext): Promise<ScenarioResult> {
  say("ARCHIVE: storing events");
  await using bench = await startBenchBroker(settings.natsServer);
  await using dir = await createTempDir("bench-archive");
  await using broker = await connectBroker({ url: bench.urlFor("admin"), name: "bench-archive" });
  const { refs, events } = await fillBroker(
    broker,
    { events: quick ? 100_000 : 1_000_000, tenants: TENANTS },
    signal,
  );

  say("ARCHIVE: archiving");
  const store = createFileStore(join(dir.path, "archive"));
  const signer = createNoteKey("bench");
  const keyring = await openKeyring({
    store: createFileStore(join(dir.path, "keys")),
    masterKey: randomBytes(32),
  });
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const auditLog = await startAuditLog({
    broker,
    shards: SHARDS,
    storage: {
      name: "bench",
      store,
      dir: join(dir.path, "archive"),
      cacheDir: dir.path,
      keyring,
      signer,
      earlier: [],
    },
    tenants: () => [],
    limits: LIMITS,
    logger: createLogger({ service: "bench", level: "error" }),
    metrics: createMetrics({ processMetrics: false }),
  });
  try {
    await untilArchived({ broker, store, name: "bench" }, signal);
  } finally {
    await auditLog.close();
  }
  const ms = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  let bytes = 0;
  for (const prefix of ["data/", "_log/0"])
    for await (const object of store.list(prefix)) bytes += object.bytes;

  say("ARCHIVE: verifying");
  const verifiedAt = performance.now();
  const report = await verifyArchive({
    store,
    name: "bench",
    vkeys: [signer],
    witnesses: [],
    witnessed: [],
    keyring,
  });
  const verifyMs = performance.now() - verifiedAt;
  if (report.verdict !== "fine" || report.events !== events)
    throw new Error(`The archive is ${report.verdict} with ${report.events} events.`);

  say("ARCHIVE: replaying");
  const reader = new ArchiveReader({ archive: await openArchive({ store, name: "bench" }), keyring });
  const starts: number[] = [];
  for (let i = 0; i < REPLAYS; i++) {
    const ref = refs[(i * 7_919) % refs.length]!;
    const askedAt = performance.now();
    await reader.events(ref, { fromSeq: FIRST_SEQ })[Symbol.asyncIterator]().next();
    starts.push(performance.now() - askedAt);
  }
  return {
    scenario: "ARCHIVE",
    what: `${events} events of ${refs.length} generations of ${TENANTS} tenants`,
    rows: [
      {
        archivedPerSecond: events / (ms / 1_000),
        cores: (user + system) / 1_000 / ms,
        bytesPerEvent: bytes / events,
        verifiedPerSecond: events / (verifyMs / 1_000),
        replayStartMs: summarize(starts),
      },
    ],
  };
}

/** Resolves when an archive has all events that are stored now. */
export async function untilArchived(
  { broker, store, name }: { broker: Broker; store: BlobStore; name: string },
  signal: AbortSignal,
): Promise<void> {
  const archive = await openArchive({ store, name });
  const streams = Array.from({ length: SHARDS }, (_, shard) => generationsStream(shard));
  for (const stream of streams) {
    const { lastStreamSeq } = await readStreamInfo(broker.reads, stream);
    while ((archive.state.lanes.get(stream)?.last ?? 0) < lastStreamSeq) {
      await delay(POLL_MS, undefined, { signal });
      await archive.refresh();
    }
  }
}
