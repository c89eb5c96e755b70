import { JOBS_STREAM, RepriseError } from "@reprise/protocol";
import { type Broker, readStreamInfo, readShardCount, streamConfigs } from "@reprise/broker";
import {
  type BackedUpStream,
  type BackupManifest,
  makeBackupFolder,
  openImageFile,
  writeManifest,
} from "./backup-files.ts";
import { takeImage } from "./stream-image.ts";

/*
 * Each stream is copied at its own moment, while services keep running. So the order decides what may disagree after a restore:
 *
 * 1. Checkpoints, verdicts, reviews and presence, which describe logs. They are then never ahead of the logs: a verdict that clears events which the
 *    log does not have yet would clear any event that is appended there later.
 * 2. The logs.
 * 3. Jobs. A job without a log is a generation that a worker begins, since the job holds the request. A log without an end and without a job is one
 *    whose job ended in between; the restore queues it again.
 * 4. All other streams: rules, tenants and other records that logs name exist for every log.
 *
 * The consumers of logs and jobs are left out: their services create them again. Moderation's would count events as judged that the older verdicts
 * do not clear, and jobs would wait for workers that are gone.
 */
const TOLD_OF_LOGS = /^(?:CHECKPOINTS|VERDICTS|REVIEWS|READERS)$/;
const LOGS = /^GENERATIONS_/;

/** Names of the platform's streams, in the order in which they are copied and restored. */
function backupOrder(shards: number): string[] {
  const names = streamConfigs({ shards, replicas: 1, retentionMs: 1_000 }).map(({ name }) => name);
  const rank = (name: string): number => {
    if (TOLD_OF_LOGS.test(name)) return 0;
    if (LOGS.test(name)) return 1;
    return name === JOBS_STREAM ? 2 : 3;
  };
  return names.toSorted((a, b) => rank(a) - rank(b));
}

function keepsConsumers(name: string): boolean {
  return !LOGS.test(name) && name !== JOBS_STREAM;
}

export interface BackupOptions {
  /** A folder that is empty, or not there. */
  readonly dir: string;
  /** Told of each stream that is copied. */
  readonly onStream?: (stream: BackedUpStream) => void;
}

/**
 * Copies all of the platform's streams into a folder, while services keep running.
 * @param broker as the user `admin`
 * @throws RepriseError `config_invalid` for a folder that can't be used, `broker_incompatible` for a broker without the platform's streams,
 * `broker_unavailable`; the
 *   folder has no manifest then
 */
export async function takeBackup(broker: Broker, { dir, onStream }: BackupOptions): Promise<BackupManifest> {
  const connection = broker.bulk;
  const shards = await readShardCount(connection).catch((cause: unknown) => {
    throw new RepriseError("broker_incompatible", "The broker has no streams of Reprise.", { cause });
  });
  if (shards === undefined)
    throw new RepriseError(
      "broker_incompatible",
      "The broker keeps no number of shards: start Reprise once.",
    );
  await makeBackupFolder(dir);
  const begun_at = new Date().toISOString();
  const streams: BackedUpStream[] = [];
  for (const name of backupOrder(shards)) {
    await using file = await openImageFile(dir, name);
    const image = await takeImage(connection, name, {
      withConsumers: keepsConsumers(name),
      write: (part) => file.write(part),
    });
    const made_at = (await readStreamInfo(connection, name)).created;
    const stream = { made_at, ...image, ...(await file.done()) };
    streams.push(stream);
    onStream?.(stream);
  }
  const server = connection.info?.version ?? "";
  const manifest: BackupManifest = {
    format: 1,
    begun_at,
    done_at: new Date().toISOString(),
    server,
    shards,
    streams,
  };
  await writeManifest(dir, manifest);
  return manifest;
}
