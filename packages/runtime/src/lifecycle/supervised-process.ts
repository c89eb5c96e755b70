import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";

export interface SupervisedExit {
  /** The command's exit status; 128 and its number for a signal, 127 for a command that is not there. */
  code: number;
  /** True when `stop()` asked for it. */
  expected: boolean;
}

export interface SupervisedProcess {
  /** The command's stdin, when `input` is "pipe". */
  readonly stdin: Writable | null;
  /** The command's stdout, when `output` is "pipe". */
  readonly stdout: Readable | null;
  /** The same of what it says on stderr. */
  readonly stderr: Readable | null;
  /** Resolves, never rejects, when the command has ended for any reason. */
  readonly exited: Promise<SupervisedExit>;
  /** TERM to the command and its children, and KILL after the grace. Idempotent; resolves when all have ended. */
  readonly stop: () => Promise<void>;
}

export interface SupervisedProcessOptions {
  /** Time for the command to end, in seconds. Default 10. */
  stopGraceS?: number;
  /** Where stdout and stderr go: an open file's descriptor, or a pipe to be read. Default: nowhere. */
  output?: number | "pipe" | "ignore";
  /** Default: nothing to read. */
  input?: "pipe" | "ignore";
  /** The command's working directory. Default: this process's own. */
  directory?: string;
  /** Environment variables that the command gets beside this process's own, which win. */
  environment?: Readonly<Record<string, string>>;
  /** True if the command gets this process's own environment. Default true. */
  inherit?: boolean;
}

/** Time after the grace for the supervisor to end. One that was stopped with its group (SIGSTOP) can't: the group is killed without it. */
const OVERDUE_S = 2;

/**
 * Runs a program for exactly as long as the process that started the script holds the other end of its descriptor 3; its arguments are the grace in seconds and
 * the command.
 *
 * The kernel closes that pipe however the holder ends, SIGKILL included, so the program can't outlive it. At the end of the file the process group gets TERM,
 * and KILL when the program is still there after the grace. Exits with the program's own status. It is no file of its own, which a bundle would leave out.
 */
const SUPERVISOR = `
tenths=$(($1 * 10))
shift

# A background job's stdin is /dev/null in POSIX sh, so the one that is meant for the program is kept as descriptor 4.
exec 4<&0 </dev/null

"$@" <&4 4<&- 3<&- &
program=$!

# Only the program's end ends the supervisor.
trap '' INT TERM HUP

{
  read -r _ <&3
  kill -TERM 0
  # The program's PATH may have no sleep.
  PATH=$PATH:/usr/bin:/bin
  while [ "$tenths" -gt 0 ] && kill -0 "$program"; do
    sleep 0.1
    tenths=$((tenths - 1))
  done
  kill -0 "$program" && kill -KILL 0
} >/dev/null 2>&1 4<&- &
watcher=$!

# The program's pipes are its own.
exec >/dev/null 2>&1 3<&- 4<&-
wait "$program"
status=$?
kill -KILL "$watcher"
exit "$status"
`;

/**
 * Runs a program as a child that never outlives this process, even one that ends by SIGKILL: `SUPERVISOR` says how.
 *
 * It runs in a session of its own, so a terminal's Ctrl-C reaches only this process, which can drain before it stops the child. Children that a program leaves
 * when it ends are killed.
 */
export async function spawnSupervised(
  command: readonly [string, ...string[]],
  options: SupervisedProcessOptions = {},
): Promise<SupervisedProcess> {
  const { stopGraceS = 10, output = "ignore", input = "ignore", directory } = options;
  const { environment = {}, inherit = true } = options;
  const supervisor: ChildProcess = spawn(
    "/bin/sh",
    ["-c", SUPERVISOR, "supervisor", String(stopGraceS), ...command],
    {
      stdio: [input, output, output, "pipe"],
      detached: true,
      cwd: directory,
      // oxlint-disable-next-line node/no-process-env -- it is handed on whole, not read
      env: inherit ? { ...environment, ...process.env } : { ...environment },
    },
  );
  const exit = once(supervisor, "exit");
  await Promise.race([once(supervisor, "spawn"), exit]);
  // There is one, as `stdio` has it. It carries nothing, so an error on it can only mean that the supervisor has ended: `exited` says so.
  const lifeline = supervisor.stdio[3] as Writable;
  lifeline.on("error", () => {});

  let stopping = false;
  // The supervisor itself is killed by nothing but SIGKILL.
  const exited = exit.then(([code]): SupervisedExit => {
    killGroup(supervisor.pid);
    return { code: (code as number | null) ?? 128 + 9, expected: stopping };
  });
  return {
    stdin: supervisor.stdin,
    stdout: supervisor.stdout,
    stderr: supervisor.stderr,
    exited,
    async stop() {
      stopping = true;
      lifeline.end();
      const overdue = setTimeout(killGroup, (stopGraceS + OVERDUE_S) * 1_000, supervisor.pid);
      await exited.finally(() => clearTimeout(overdue));
    },
  };
}

function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, "SIGKILL");
  } catch {
    // Usually the group is gone with its leader.
  }
}
