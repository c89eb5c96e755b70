import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";
import {
  encodeNatsServerConfig,
  type NatsServerFiles,
  natsServerFiles,
  type NatsServerSettings,
} from "./nats-server-config.ts";
import { ensurePrivateDir } from "../lifecycle/ensure-private-dir.ts";
import { replaceSecretFile } from "../lifecycle/secret-file.ts";
import { watchPortsFile } from "./nats-server-ports-file.ts";
import { isProcessRunning } from "../lifecycle/process-running.ts";
import {
  spawnSupervised,
  type SupervisedExit,
  type SupervisedProcess,
} from "../lifecycle/supervised-process.ts";

export interface NatsServerOptions extends NatsServerSettings {
  /** The executable: see `findNatsServer`. */
  binary: string;
  /** Time for the recovery of stored data before the start counts as failed, in milliseconds. Default 60,000. */
  startTimeoutMs?: number;
  /** Time for a predecessor on the same folder, whose owner was killed, to end, in milliseconds. Default 15,000. */
  predecessorGraceMs?: number;
}

export interface NatsServer extends AsyncDisposable {
  /** `nats://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves, never rejects, when the server has ended for any reason. */
  readonly exited: Promise<SupervisedExit>;
  /** Lets the server flush and end: TERM, then KILL after 10 s. Idempotent; resolves when it has ended. */
  readonly stop: () => Promise<void>;
}

const STOP_GRACE_S = 10;
const PREDECESSOR_POLL_MS = 50;
const LOG_LINES_IN_ERROR = 5;

/**
 * Starts a real nats-server with JetStream on 127.0.0.1, with its store in `storeDir`, and resolves when it accepts clients.
 * It never outlives this process, and a terminal's Ctrl-C does not reach it: see `spawnSupervised`.
 *
 * @throws RepriseError `config_invalid` when another process's nats-server uses `storeDir`: two would destroy each other's files;
 *   `broker_unavailable` when it ends or says nothing within `startTimeoutMs`, with the end of its log
 */
export async function startNatsServer(options: NatsServerOptions): Promise<NatsServer> {
  const settings = { ...options, storeDir: resolve(options.storeDir) };
  const files = natsServerFiles(settings);
  await ensurePrivateDir(settings.storeDir);
  await awaitPredecessorGone(files, options.predecessorGraceMs ?? (STOP_GRACE_S + 5) * 1_000);
  await rm(files.portsDir, { recursive: true, force: true });
  await mkdir(files.portsDir);
  // It may hold credentials.
  await replaceSecretFile(files.config, encodeNatsServerConfig(settings));

  using ports = watchPortsFile(files.portsDir);
  const logStart = await sizeOf(files.log);
  const { exited, stop } = await spawnServer(options.binary, files);

  const timeout = new AbortController();
  const outcome = await Promise.race([
    ports.found,
    exited.then(({ code }) => `ended with status ${code}`),
    delay(options.startTimeoutMs ?? 60_000, "did not start in time", { signal: timeout.signal }),
  ]);
  timeout.abort();
  if (typeof outcome === "string") {
    await stop();
    const said = await lastLines(files.log, logStart);
    throw new RepriseError(
      "broker_unavailable",
      `${options.binary} ${outcome}. Its log, ${files.log}, ends with:\n${said}`,
    );
  }
  return { ...outcome, url: `nats://127.0.0.1:${outcome.port}`, exited, stop, [Symbol.asyncDispose]: stop };
}

async function spawnServer(binary: string, files: NatsServerFiles): Promise<SupervisedProcess> {
  // What the server says before it has opened its log belongs there too.
  const log = await open(files.log, "a");
  try {
    return await spawnSupervised([binary, "--config", files.config], {
      stopGraceS: STOP_GRACE_S,
      output: log.fd,
      // Go takes every core and spins on them while it looks for work; the other half is for the process that started the server.
      environment: { GOMAXPROCS: String(Math.max(1, Math.floor(availableParallelism() / 2))) },
    });
  } finally {
    await log.close();
  }
}

async function awaitPredecessorGone(files: NatsServerFiles, graceMs: number): Promise<void> {
  const pid = Number(await readFile(files.pid, "utf8").catch(() => ""));
  const giveUpAt = performance.now() + graceMs;
  while (pid > 0 && (await isProcessRunning(pid, files.config))) {
    if (performance.now() > giveUpAt) {
      throw new RepriseError(
        "config_invalid",
        `A nats-server of another process (pid ${pid}) uses ${files.config}; stop that first.`,
      );
    }
    await delay(PREDECESSOR_POLL_MS);
  }
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

async function lastLines(file: string, from: number): Promise<string> {
  const log = await readFile(file).catch(() => Buffer.alloc(0));
  return log.subarray(from).toString("utf8").trimEnd().split("\n").slice(-LOG_LINES_IN_ERROR).join("\n");
}
