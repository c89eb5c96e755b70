import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface FoundProgram {
  /** Absolute. */
  path: string;
  /** `major.minor.patch` */
  version: string;
}

export interface WantedProgram {
  name: string;
  minVersion: string;
  /** Matches what the program prints on `--version`; its first group is `major.minor.patch`. */
  versionPattern: RegExp;
}

export interface ProgramPlaces {
  /** A path that is used or refused; no other is searched. */
  named?: string | undefined;
  path?: string | undefined;
  /** Searched after the path, in its folder `bin`. */
  dataDir: string;
}

/** Finds a program that is new enough, or says what is wrong at each place that was tried. */
export async function findProgram(
  { name, minVersion, versionPattern }: WantedProgram,
  { named, path = "", dataDir }: ProgramPlaces,
): Promise<FoundProgram | { problem: string }> {
  const candidates = named
    ? [resolve(named)]
    : await executables(name, [...path.split(delimiter), join(dataDir, "bin")]);
  const problems: string[] = [];
  for (const candidate of candidates) {
    const version = await versionOf(candidate, versionPattern);
    if (version === undefined) problems.push(`${candidate} is not a ${name} that runs here`);
    else if (isOlder(version, minVersion)) problems.push(`${candidate} is ${version}`);
    else return { path: candidate, version };
  }
  const found =
    problems.length > 0 ? problems.join("; ") : `there is none on PATH or in ${join(dataDir, "bin")}`;
  return { problem: `${name} ${minVersion} or newer: ${found}` };
}

async function executables(name: string, dirs: readonly string[]): Promise<string[]> {
  const paths = dirs.filter((dir) => dir !== "").map((dir) => resolve(dir, name));
  const present = await Promise.all(
    paths.map((path) =>
      access(path, constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return paths.filter((_, index) => present[index]);
}

/** Undefined when it can't be run, or prints something else. */
async function versionOf(path: string, pattern: RegExp): Promise<string | undefined> {
  const { stdout } = await run(path, ["--version"], { timeout: 10_000 }).catch(() => ({ stdout: "" }));
  return pattern.exec(stdout)?.[1];
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, "en", { numeric: true }) < 0;
}
