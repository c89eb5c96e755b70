import { spawn } from "node:child_process";

/** Waits at its stdin: for a line, which calls it off, or for the end, which comes however this process ends. */
const GUARD = `read -r _ || kill -KILL "$1"`;

/**
 * Makes sure that a process under SIGSTOP ends with this one. Other processes notice by themselves that their parent is gone; a stopped process can't.
 * @returns a function that removes the guard, once the process continues
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
