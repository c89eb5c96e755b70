import { createInterface } from "node:readline";
import { pause } from "@reprise/async";
import { fileURLToPath } from "node:url";
import { type Logger, spawnSupervised, type SupervisedProcess } from "@reprise/runtime";
import type { Readable } from "node:stream";

export interface OwnWitnessOptions {
  /** Its folder: its key, and what it has seen. */
  readonly dir: string;
  /** The name of its key. */
  readonly name: string;
  /** Verifier keys of the archives that it cosigns. */
  readonly logs: readonly string[];
  /** Where the supervisor's commands are found. */
  readonly path: string;
  readonly logger: Logger;
  /** Before the first new start of one that has ended; twice as long before each further one, a minute at most. Default 1,000 ms. */
  readonly retryMs?: number;
}

/** A witness as a child process, for as long as this one: see `spawnSupervised`. */
export interface OwnWitness extends AsyncDisposable {
  /** Where it is, once it has started for the first time. It stays there. */
  readonly url: Promise<string>;
}

const MAIN = fileURLToPath(import.meta.resolve("@reprise/witness-service/main"));
const LAST_RETRY_MS = 60_000;
const STOP_GRACE_S = 5;
/** Characters that are kept of its stderr until it ended: room for a stack. */
const STDERR_CHARS = 8_192;
/** Levels of its log whose lines are repeated in this process's. */
const REPEATED = new Set(["warn", "error", "fatal"]);

interface WitnessLine {
  readonly level: string;
  readonly msg: string;
  readonly url?: string;
  readonly vkey?: string;
}

/**
 * Starts a witness as a process of its own, and starts it again, on the same port, whenever it has ended by itself. Does not wait for it:
 * checkpoints are submitted once it is there.
 */
export function startOwnWitness(options: OwnWitnessOptions): OwnWitness {
  const url = Promise.withResolvers<string>();
  const stop = new AbortController();
  const over = superviseWitness(options, url.resolve, stop.signal);
  return {
    url: url.promise,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

async function superviseWitness(
  options: OwnWitnessOptions,
  onUrl: (url: string) => void,
  stop: AbortSignal,
): Promise<void> {
  const { logger, retryMs: firstRetryMs = 1_000 } = options;
  let port = "0";
  let retryMs = firstRetryMs;
  const onUp = (url: string, vkey: string | undefined) => {
    logger.info({ url, vkey }, "witnessing");
    onUrl(url);
    ({ port } = new URL(url));
    retryMs = firstRetryMs;
  };
  while (!stop.aborted) {
    // A machine that has no room for a process now may have some later.
    const ended = await runWitness(options, { port, onUp, stop }).catch((err: unknown) => ({ err }));
    if (stop.aborted) return;
    logger.error({ ...ended, retryMs }, "the witness has ended by itself; it is started again");
    await pause(retryMs, stop);
    retryMs = Math.min(2 * retryMs, LAST_RETRY_MS);
  }
}

interface WitnessRun {
  readonly port: string;
  readonly onUp: (url: string, vkey: string | undefined) => void;
  readonly stop: AbortSignal;
}

/** Runs it once, until it has ended. */
async function runWitness(
  options: OwnWitnessOptions,
  { port, onUp, stop }: WitnessRun,
): Promise<{ code: number; stderr: string }> {
  const witness = await spawnWitness(options, port);
  const end = () => void witness.stop();
  if (stop.aborted) end();
  else stop.addEventListener("abort", end, { once: true });
  // Both are there: the output is piped.
  const [stdout, stderr] = [witness.stdout!, witness.stderr!];
  const said = readEnd(stderr, STDERR_CHARS);
  for await (const line of createInterface({ input: stdout })) {
    const { level, msg, url, vkey } = parseLine(line);
    if (msg === "witnessing" && url !== undefined) onUp(url, vkey);
    else if (REPEATED.has(level)) options.logger.warn({ witness: line }, "the witness warns");
  }
  const { code } = await witness.exited;
  stop.removeEventListener("abort", end);
  return { code, stderr: (await said).trim() };
}

/** It gets no more of the environment than it needs: what this process knows of the broker and of keys is not for it. */
function spawnWitness(
  { dir, name, logs, path }: OwnWitnessOptions,
  port: string,
): Promise<SupervisedProcess> {
  return spawnSupervised([process.execPath, MAIN], {
    output: "pipe",
    stopGraceS: STOP_GRACE_S,
    inherit: false,
    environment: {
      PATH: path,
      REPRISE_HOST: "127.0.0.1",
      REPRISE_PORT: port,
      REPRISE_WITNESS_DIR: dir,
      REPRISE_WITNESS_NAME: name,
      REPRISE_WITNESS_LOGS: logs.join(","),
    },
  });
}

function parseLine(line: string): WitnessLine {
  try {
    return JSON.parse(line) as WitnessLine;
  } catch {
    return { level: "warn", msg: line };
  }
}

/** The last `maxChars` of what a stream says, once it has ended: no more of it is kept meanwhile. */
export async function readEnd(stream: Readable, maxChars: number): Promise<string> {
  let end = "";
  for await (const piece of stream.setEncoding("utf8")) end = (end + String(piece)).slice(-maxChars);
  return end;
}
