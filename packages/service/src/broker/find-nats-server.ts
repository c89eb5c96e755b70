import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { RepriseError } from "@reprise/protocol";

const run = promisify(execFile);

/** The first version with everything the log relies on: strict stream configuration, batched direct gets, per-subject expectations. */
const MIN_NATS_SERVER_VERSION = "2.12.0";

export interface NatsServerBinary {
  /** Absolute. */
  path: string;
  /** `major.minor.patch` */
  version: string;
}

/**
 * Finds a nats-server that is new enough: what `REPRISE_NATS_SERVER` names and nothing else, or the first good one on `PATH`,
 * or `<dataDir>/bin/nats-server`, where set-up puts the one it fetches.
 *
 * @throws RepriseError `config_invalid` that names each place that was tried and what is wrong there
 */
export async function findNatsServer(
  env: Readonly<Record<string, string | undefined>>,
  dataDir: string,
): Promise<NatsServerBinary> {
  const named = env["REPRISE_NATS_SERVER"];
  const candidates = named
    ? [resolve(named)]
    : await executables([...(env["PATH"] ?? "").split(delimiter), join(dataDir, "bin")]);
  const problems: string[] = [];
  for (const path of candidates) {
    const version = await versionOf(path);
    if (version === undefined) problems.push(`${path} is not a nats-server that runs here`);
    else if (isOlder(version, MIN_NATS_SERVER_VERSION)) problems.push(`${path} is ${version}`);
    else return { path, version };
  }
  const found =
    problems.length > 0 ? problems.join("; ") : `there is none on PATH or in ${join(dataDir, "bin")}`;
  throw new RepriseError(
    "config_invalid",
    `Reprise needs nats-server ${MIN_NATS_SERVER_VERSION} or newer: ${found}. REPRISE_NATS_SERVER can name one.`,
    { param: "REPRISE_NATS_SERVER" },
  );
}

async function executables(dirs: readonly string[]): Promise<string[]> {
  const paths = dirs.filter((dir) => dir !== "").map((dir) => resolve(dir, "nats-server"));
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

/** Undefined when it can't be run, or says something else than nats-server does: `nats-server: v2.15.1`. */
async function versionOf(path: string): Promise<string | undefined> {
  const { stdout } = await run(path, ["--version"], { timeout: 10_000 }).catch(() => ({ stdout: "" }));
  return /^nats-server: v([0-9]+\.[0-9]+\.[0-9]+)/m.exec(stdout)?.[1];
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, "en", { numeric: true }) < 0;
}
