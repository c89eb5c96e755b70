import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

const ENDING: readonly NodeJS.Signals[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGQUIT", "SIGABRT"];
/** Stopped, a zombie, dead. */
const STILL = new Set(["T", "Z", "X"]);
const POLL_MS = 1;

/** True if a server ends on this signal, so that its end can be waited for. */
export function isEndingSignal(signal: NodeJS.Signals): boolean {
  return ENDING.includes(signal);
}

/**
 * Sends a signal. After SIGSTOP it resolves when every thread is stopped: the kernel stops them one by one, and on two busy cores a nats-server still
 * answered for up to 21 ms.
 * @throws Error `ESRCH` when there is no such process
 */
export async function sendSignal(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  if (signal === "SIGSTOP") await standsStill(pid);
}

/** Resolves when every thread of a process is stopped, or the process is gone. */
export async function standsStill(pid: number): Promise<void> {
  while (!(await readThreadStates(pid)).every((state) => STILL.has(state))) await delay(POLL_MS);
}

async function readThreadStates(pid: number): Promise<readonly string[]> {
  if (process.platform !== "linux") {
    const listed = await promisify(execFile)("ps", ["-o", "state=", "-p", String(pid)]).catch(
      () => undefined,
    );
    return listed ? [listed.stdout.slice(0, 1)] : [];
  }
  const tasks = `/proc/${pid}/task`;
  const threads = await readdir(tasks).catch(() => []);
  const stats = await Promise.all(
    threads.map((thread) => readFile(`${tasks}/${thread}/stat`, "latin1").catch(() => undefined)),
  );
  // proc_pid_stat(5): the state follows the name, which is in parentheses and may contain any character.
  return stats.flatMap((stat) => (stat === undefined ? [] : [stat.charAt(stat.lastIndexOf(")") + 2)]));
}
