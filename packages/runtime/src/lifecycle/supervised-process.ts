import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

export interface SupervisedExit {
  /** The command's exit status; 128 and its number for a signal, 127 for a command that is not there. */
  code: number;
  /** True when `stop()` asked for it. */
  expected: boolean;
}

export interface SupervisedProcess {
  /** The command's stdout, when `output` is "pipe". */
  readonly stdout: Readable | null;
  /** The same of what it says on stderr. */
  readonly stderr: Readable | null;
  /** Resolves, never rejects, when the command has ended for any reason. */
  readonly exited: Promise<SupervisedExit>;
  /** TERM, and KILL after the grace. Idempotent; resolves when the command has ended. */
  readonly stop: () => Promise<void>;
}

export interface SupervisedProcessOptions {
  /** Time for the command to end, in seconds. Default 10. */
  stopGraceS?: number;
  /** Where stdout and stderr go: an open file's descriptor, or a pipe to be read. Default: nowhere. */
  output?: number | "pipe" | "ignore";
  /** Environment variables that the command gets beside this process's own, which win. */
  environment?: Readonly<Record<string, string>>;
  /** True if the command gets this process's own environment. Default true. */
  inherit?: boolean;
}

const SUPERVISOR = fileURLToPath(new URL("../supervisor.sh", import.meta.url));

/**
 * Runs a server as a child that never outlives this process, even one that ends by SIGKILL: supervisor.sh says how.
 *
 * It runs in a session of its own, so a terminal's Ctrl-C reaches only this process, which can drain before it stops the child.
 */
export async function spawnSupervised(
  command: readonly [string, ...string[]],
  { stopGraceS = 10, output = "ignore", environment = {}, inherit = true }: SupervisedProcessOptions = {},
): Promise<SupervisedProcess> {
  const supervisor: ChildProcess = spawn("/bin/sh", [SUPERVISOR, String(stopGraceS), ...command], {
    stdio: ["pipe", output, output],
    detached: true,
    // oxlint-disable-next-line node/no-process-env -- it is handed on whole, not read
    env: inherit ? { ...environment, ...process.env } : { ...environment },
  });
  const exit = once(supervisor, "exit");
  await Promise.race([once(supervisor, "spawn"), exit]);
  // There is one, as `stdio` has it. It carries nothing, so an error on it can only mean that the supervisor has ended: `exited` says so.
  const stdin = supervisor.stdin!;
  stdin.on("error", () => {});

  let stopping = false;
  // The supervisor itself is killed by nothing but SIGKILL.
  const exited = exit.then(([code]): SupervisedExit => ({
    code: (code as number | null) ?? 128 + 9,
    expected: stopping,
  }));
  return {
    stdout: supervisor.stdout,
    stderr: supervisor.stderr,
    exited,
    async stop() {
      stopping = true;
      stdin.end();
      await exited;
    },
  };
}
