import { join } from "node:path";
import type { SyncInterval } from "../environment/environment-values.ts";

export interface NatsServerSettings {
  /** Absolute. Holds everything the server keeps: streams, configuration, log, pid and port. */
  storeDir: string;
  /** Default: a free one. */
  port?: number | undefined;
  /** The largest message. Default 8 MiB: a checkpoint holds all of a generation's events. */
  maxPayloadBytes?: number | undefined;
  /** Default: nats-server's own, 2 minutes; a crash of the process loses nothing, a crash of the machine may. */
  syncInterval?: SyncInterval | undefined;
  /** Default: `nats-server.log` in `storeDir`. Kept below 64 MiB by rotation. */
  logFile?: string | undefined;
  /** JetStream's limit of bytes in memory. Default 64 MiB: all that Reprise stores is in files. */
  maxMemoryStoreBytes?: number | undefined;
  /** JetStream's limit of bytes in files. Default: nats-server's own, three quarters of the free disk space. */
  maxFileStoreBytes?: number | undefined;
  /** Further fields of the configuration, such as `accounts` and `tls`: without them the server lets in every local process. */
  extraConfig?: Readonly<Record<string, unknown>> | undefined;
}

export interface NatsServerFiles {
  config: string;
  log: string;
  pid: string;
  /** The server writes the port that it took to a file in this folder. */
  portsDir: string;
}

const MIB = 1_024 * 1_024;

export function natsServerFiles({ storeDir, logFile }: NatsServerSettings): NatsServerFiles {
  return {
    config: join(storeDir, "nats-server.json"),
    log: logFile ?? join(storeDir, "nats-server.log"),
    pid: join(storeDir, "nats-server.pid"),
    portsDir: join(storeDir, "ports"),
  };
}

/** Encodes a configuration file for nats-server, which reads JSON. Binds to 127.0.0.1 only. */
export function encodeNatsServerConfig(settings: NatsServerSettings): string {
  const files = natsServerFiles(settings);
  const config = {
    ...settings.extraConfig,
    server_name: "reprise",
    host: "127.0.0.1",
    port: settings.port ?? -1,
    max_payload: settings.maxPayloadBytes ?? 8 * MIB,
    ports_file_dir: files.portsDir,
    pid_file: files.pid,
    log_file: files.log,
    logfile_size_limit: 16 * MIB,
    logfile_max_num: 3,
    jetstream: {
      store_dir: settings.storeDir,
      max_memory_store: settings.maxMemoryStoreBytes ?? 64 * MIB,
      max_file_store: settings.maxFileStoreBytes,
      sync_interval: settings.syncInterval,
    },
  };
  return JSON.stringify(config, null, 2);
}
