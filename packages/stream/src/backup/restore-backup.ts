import { jetstreamManager } from "@nats-io/jetstream";
import { RepriseError } from "@reprise/protocol";
import { type Broker, MADE_AT, readStreamInfo } from "@reprise/broker";
import { type BackedUpStream, type BackupManifest, checkBackup, readImageFile } from "./backup-files.ts";
import { queueOpenGenerations } from "./queue-open-generations.ts";
import { putImage } from "./stream-image.ts";

export interface RestoreOptions {
  readonly dir: string;
  /** Number of servers that store each stream from now on. Default: as in the backup. */
  readonly replicas?: number | undefined;
  /** Told of each stream that is there again, and how many of its messages have expired meanwhile. */
  readonly onStream?: (stream: BackedUpStream, expired: number) => void;
}

export interface RestoredBackup {
  readonly manifest: BackupManifest;
  /** Generations that had no end and no job, and have been queued again. */
  readonly queued: number;
}

/**
 * Makes the platform's streams from a backup, at a broker that has none of them and at which no service runs.
 * @param broker as the user `admin`
 * @throws RepriseError `config_invalid` for a backup that is not whole, `broker_incompatible` when one of its streams is there, before anything is changed;
 *   `broker_unavailable` when the broker fails in the middle: what is there then has to be removed before the next try
 */
export async function restoreBackup(
  broker: Broker,
  { dir, replicas, onStream }: RestoreOptions,
): Promise<RestoredBackup> {
  const connection = broker.bulk;
  const manifest = await checkBackup(dir);
  const wanted = new Set(manifest.streams.map(({ config }) => config.name));
  const there = (await listStreams(broker)).filter((name) => wanted.has(name));
  if (there.length > 0)
    throw new RepriseError(
      "broker_incompatible",
      `The broker has ${there.join(", ")}: a backup is restored to a broker without streams of Reprise, and replaces none.`,
    );
  for (const stream of manifest.streams) {
    const config = {
      ...stream.config,
      num_replicas: replicas ?? stream.config.num_replicas,
      metadata: { ...stream.config.metadata, [MADE_AT]: stream.made_at },
    };
    const state = await putImage(connection, { config, state: stream.state }, readImageFile(dir, stream));
    if (state.last_seq !== stream.state.last_seq || state.messages > stream.state.messages)
      throw new RepriseError(
        "broker_unavailable",
        `${config.name} was restored up to ${state.last_seq} with ${state.messages} messages; the backup has ${stream.state.messages} up to ${stream.state.last_seq}.`,
      );
    onStream?.(stream, stream.state.messages - state.messages);
  }
  await Promise.all(manifest.streams.map(({ config }) => readStreamInfo(connection, config.name)));
  return { manifest, queued: await queueOpenGenerations(broker, manifest.shards) };
}

async function listStreams({ bulk }: Broker): Promise<string[]> {
  try {
    const manager = await jetstreamManager(bulk, { timeout: LIST_MS, checkAPI: false });
    const names: string[] = [];
    for await (const name of manager.streams.names()) names.push(name);
    return names;
  } catch (cause) {
    throw new RepriseError("broker_unavailable", "The broker does not list its streams.", { cause });
  }
}

const LIST_MS = 10_000;
