import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  ArchiveReader,
  createFileStore,
  createNoteKey,
  openArchive,
  openKeyring,
  verifyArchive,
} from "@reprise/archive";
import { startAuditLog } from "@reprise/audit-log-service";
import { connectBroker } from "@reprise/broker";
import { FIRST_SEQ } from "@reprise/protocol";
import { createLogger, createMetrics } from "@reprise/runtime";
import { createTempDir } from "@reprise/testkit";
import { type Samples, summarize } from "../../measure/samples.ts";
import { SHARDS, startBenchBroker } from "../../targets/reprise/broker.ts";
import { fillBroker } from "../fill-broker.ts";
import type { RunContext } from "../run-context.ts";
import { untilArchived } from "./until-archived.ts";

export interface ArchiveResult {
  readonly scenario: "ARCHIVE";
  readonly events: number;
  readonly generations: number;
  readonly tenants: number;
  readonly archivedPerSecond: number;
  /** Of one core, while archiving. */
  readonly cores: number;
  /** Data files and commits. */
  readonly bytesPerEvent: number;
  readonly verifiedPerSecond: number;
  /** From asking for a generation to its first event, each generation once. */
  readonly replayStartMs: Samples;
}

/** As the audit log has them, save that the last batches, which are not full, are not waited for. */
const LIMITS = { maxMessages: 20_000, maxAgeMs: 250, maxBytes: 16 * 1_024 * 1_024 };
const TENANTS = 10;
const REPLAYS = 200;

/**
 * ARCHIVE: how fast one process archives what has piled up in the broker, to files that are synced; what it takes on disk; how fast all of it is
 * verified, every segment opened; and how soon one generation of it begins to replay. Generations are as long as the mean of real ones.
 */
export async function runArchive({ settings, quick, signal, say }: RunContext): Promise<ArchiveResult> {
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
    events,
    generations: refs.length,
    tenants: TENANTS,
    archivedPerSecond: events / (ms / 1_000),
    cores: (user + system) / 1_000 / ms,
    bytesPerEvent: bytes / events,
    verifiedPerSecond: events / (verifyMs / 1_000),
    replayStartMs: summarize(starts),
  };
}
