import { execFile } from "node:child_process";
import { arch, cpus, loadavg, platform, release, totalmem } from "node:os";
import { promisify } from "node:util";

/** Facts about the machine, without which numbers can't be compared. */
export interface MachineFacts {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  /** The load before the run began: others at work make all figures worse. */
  readonly loadBefore: number;
  readonly node: string;
  readonly natsServer: string;
  /** Absent when there is no Redis here, and so none of its targets. */
  readonly redis: string | undefined;
  readonly commit: string;
}

export async function readMachineFacts(binaries: {
  natsServer: string;
  redis: string;
}): Promise<MachineFacts> {
  const redis = await firstLine(binaries.redis, ["--version"]);
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryBytes: totalmem(),
    system: `${platform()} ${release()} ${arch()}`,
    loadBefore: loadavg()[0]!,
    node: process.version,
    natsServer: (await firstLine(binaries.natsServer, ["--version"])) ?? "unknown",
    redis: redis && (/v=(\S+)/.exec(redis)?.[1] ?? redis),
    commit: (await firstLine("git", ["describe", "--always", "--dirty"])) ?? "unknown",
  };
}

async function firstLine(command: string, args: string[]): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(command, args, { timeout: 10_000 });
    return stdout.trim().split("\n")[0];
  } catch {
    return undefined;
  }
}
