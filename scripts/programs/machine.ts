import { readFile } from "node:fs/promises";

/** What decides how a program gets onto this machine. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** As Node names it. */
  readonly arch: string;
  /** `ID` of /etc/os-release, then what is in its `ID_LIKE`, the closest first; empty where there is no such file. */
  readonly ids: readonly string[];
  /** The first number of its `VERSION_ID`; undefined for a system without releases, or before its own. */
  readonly major: number | undefined;
}

export async function readMachine(): Promise<Machine> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  return { platform: process.platform, arch: process.arch, ...parseOsRelease(release) };
}

export function parseOsRelease(text: string): Pick<Machine, "ids" | "major"> {
  const value = (name: string) => new RegExp(`^${name}=(["']?)(.*)\\1\\s*$`, "m").exec(text)?.[2] ?? "";
  const ids = `${value("ID")} ${value("ID_LIKE")}`.split(/\s+/).filter((id) => id !== "");
  const major = Number.parseInt(value("VERSION_ID"));
  return { ids, major: Number.isNaN(major) ? undefined : major };
}
