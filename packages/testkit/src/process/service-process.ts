import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { findNatsServer } from "@reprise/runtime";
import { bundleProgram, toSourcePositions } from "./bundle-program.ts";
import { type LogLine, readLogLines } from "./log-lines.ts";
import { sendSignal } from "./send-signal.ts";

export interface ServiceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

/** One service as a process of its own. Disposal kills it. */
export interface ServiceProcess extends AsyncDisposable {
  readonly pid: number;
  /**
   * Resolves with the first line logged with this message after the first `from` lines, past or future.
   * @throws when the process ends without it
   */
  logged(msg: string, from?: number): Promise<LogLine>;
  /** Everything logged so far. */
  readonly lines: readonly LogLine[];
  readonly exited: Promise<ServiceExit>;
  kill(signal: Exclude<NodeJS.Signals, "SIGSTOP" | "SIGCONT">): void;
  /** Sends SIGSTOP. Resolves when the process is stopped; it still ends with this process. */
  pause(): Promise<void>;
  /** SIGCONT. */
  resume(): void;
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<ServiceExit>;
}

export type ServiceName =
  | "delivery"
  | "inference-worker"
  | "moderation"
  | "audit-log"
  | "analytics"
  | "standalone";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));

/** Where Node keeps compiled modules, if this process was told: compiling is half of what a service takes to start. */
const { NODE_COMPILE_CACHE } = process.env;
const COMPILE_CACHE = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** stdin ends when the test run that holds its other end does: a killed test run leaves no process running. */
const END_WITH_PARENT = `data:text/javascript,${encodeURIComponent(
  `process.stdin.on("close", () => process.kill(process.pid, "SIGKILL")).resume().unref()`,
)}`;

/**
 * Starts a service with this environment and nothing else of ours. It runs from a bundle, standalone from its sources.
 */
export async function startService(
  name: ServiceName,
  env: Readonly<Record<string, string>>,
): Promise<ServiceProcess> {
  const { path } = await findNatsServer(process.env, process.env["REPRISE_DATA_DIR"] ?? `${ROOT}.reprise`);
  const source = `services/${name}/src/main.ts`;
  const bundle = name !== "standalone" ? await bundleProgram(source) : undefined;
  const compileCache =
    bundle === undefined ? COMPILE_CACHE : { NODE_COMPILE_CACHE: join(dirname(bundle), "compiled") };
  const child = spawn(process.execPath, ["--import", END_WITH_PARENT, bundle ?? source], {
    cwd: ROOT,
    env: { PATH: process.env["PATH"], ...compileCache, REPRISE_NATS_SERVER: path, ...env },
    stdio: ["pipe", "pipe", "pipe"],
    // A session of its own: a terminal's Ctrl-C goes to the test run, which ends the process in order.
    detached: true,
  });
  child.stdin.on("error", () => undefined);

  const lines: LogLine[] = [];
  const waiting: (() => void)[] = [];
  let over = false;
  let callOffGuard = (): void => {};
  const announce = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  readLogLines(child.stdout, (line) => {
    lines.push(line);
    announce();
  });
  const stderr = text(child.stderr);
  const exited = once(child, "close").then(async ([code, signal]): Promise<ServiceExit> => {
    over = true;
    callOffGuard();
    announce();
    return {
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
      stderr: toSourcePositions(await stderr),
    };
  });
  return {
    pid: child.pid!,
    lines,
    exited,
    async logged(msg, from = 0) {
      for (;;) {
        const line = lines.find((logged, index) => index >= from && logged.msg === msg);
        if (line) return line;
        if (over) throw new Error(`${name} ended without "${msg}": ${(await exited).stderr}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    kill(signal) {
      child.kill(signal);
    },
    async pause() {
      if (over) throw new Error(`${name} has ended.`);
      callOffGuard();
      callOffGuard = guardStoppedProcess(child.pid!);
      await sendSignal(child.pid!, "SIGSTOP");
    },
    resume() {
      child.kill("SIGCONT");
      callOffGuard();
    },
    async stop() {
      child.kill("SIGTERM");
      return exited;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** Waits at its stdin: for a line, which calls it off, or for the end, which comes however this process ends. */
const GUARD = `read -r _ || kill -KILL "$1"`;

/**
 * Makes sure that a process under SIGSTOP ends with this one. Other processes notice by themselves that their parent is gone; a stopped process can't.
 * @returns a function that removes the guard, once the process continues
 */
function guardStoppedProcess(pid: number): () => void {
  const guard = spawn("/bin/sh", ["-c", GUARD, "guard", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    // A session of its own: a terminal's Ctrl-C is not for it.
    detached: true,
  });
  guard.unref();
  guard.stdin.on("error", () => {});
  return () => void guard.stdin.end("\n");
}
