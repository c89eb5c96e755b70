import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Crashing {
  /** URL of the broker. */
  readonly url: string;
  /** Holds the archive and the keys. */
  readonly dir: string;
  readonly shards: number;
  /** Calls of the stores until the archiver dies: 0 for never. */
  readonly calls: number;
  readonly when: "before" | "after";
}

const SCRIPT = fileURLToPath(new URL("crashing-archiver.ts", import.meta.url));

/** An archiver of all streams that kills itself, as a process. */
export function startCrashingArchiver({ url, dir, shards, calls, when }: Crashing) {
  const child = spawn(process.execPath, [SCRIPT, url, dir, `${shards}`, `${calls}`, when], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => undefined);
  return { child, exited: once(child, "close"), ready: once(child.stdout, "data") };
}
