import { spawn } from "node:child_process";

/** Waits at its stdin: for a line, which calls it off, or for the end, which comes however this process ends. */
const GUARD = `read -r _ || kill -KILL "$1"`;

/**
 * Sees to it that a process under SIGSTOP ends with this one. Others notice by themselves that their parent is gone; one that
 * is stopped notices nothing.
 * @returns what calls the guard off, once the process goes on
 */
export function guardStoppedProcess(pid: number): () => void {
  const guard = spawn("/bin/sh", ["-c", GUARD, "guard", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    // A session of its own: a terminal's Ctrl-C is not for it.
    detached: true,
  });
  guard.unref();
  guard.stdin.on("error", () => {});
  return () => void guard.stdin.end("\n");
}
