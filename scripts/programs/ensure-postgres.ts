import { mkdir, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";
import { fetchPostgres, libraryDirs, serverDirs } from "../debian/fetch-postgres.ts";
import { installCommand } from "./install-command.ts";
import { type Machine, readMachine } from "./machine.ts";
import { runQuietly } from "../run-quietly.ts";

export interface PostgresPrograms {
  /** Absolute path of a folder with `postgres` and `initdb`. */
  readonly dir: string;
  /** What they need of the environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder they were fetched into; undefined for those of the machine. */
  readonly fetched?: string;
}

const MIN_MAJOR = 15;

/**
 * A PostgreSQL server that is new enough: one on PATH, one that a Debian package or Homebrew has installed, or one in the data folder,
 * after fetching it where there is none. Of several processes that ask at once, one fetches.
 *
 * @param installed the root of what is installed
 * @throws Error that says what to install by hand
 */
export async function ensurePostgres(dataDir: string, installed = "/"): Promise<PostgresPrograms> {
  const present = await findPostgres(dataDir, installed);
  if (present) return present;
  await mkdir(dataDir, { recursive: true });
  const machine = await readMachine();
  await withSetUpLock(dataDir, async () => {
    if (await findPostgres(dataDir, installed)) return;
    console.error("Fetching PostgreSQL from this machine's Debian archive…");
    try {
      await fetchPostgres(fetchedIn(dataDir));
    } catch (error) {
      throw new Error(byHand(error instanceof Error ? error.message : String(error), machine), {
        cause: error,
      });
    }
  });
  const fetched = await findPostgres(dataDir, installed);
  if (!fetched) throw new Error(byHand("the fetched one does not run here, or is too old", machine));
  return fetched;
}

async function findPostgres(dataDir: string, installed: string): Promise<PostgresPrograms | undefined> {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((dir) => dir !== "");
  const fetched = fetchedIn(dataDir);
  const env = { LD_LIBRARY_PATH: (await libraryDirs(fetched)).join(delimiter) };
  const candidates: PostgresPrograms[] = [
    ...[...onPath, ...(await serverDirs(installed)), ...(await homebrewDirs(installed))].map((dir) => ({
      dir,
      env: {},
    })),
    ...(await serverDirs(fetched)).map((dir) => ({ dir, env, fetched })),
  ];
  for (const candidate of candidates) if (await isFit(candidate)) return candidate;
  return undefined;
}

async function isFit({ dir, env }: PostgresPrograms): Promise<boolean> {
  const versionOf = (name: string) => runQuietly(join(dir, name), ["--version"], { env }).catch(() => "");
  const versions = await Promise.all(["postgres", "initdb"].map(versionOf));
  return versions.every((version) => Number(/\(PostgreSQL\) ([0-9]+)/.exec(version)?.[1]) >= MIN_MAJOR);
}

/** Homebrew links no PostgreSQL of a named version into a folder on PATH. */
async function homebrewDirs(root: string): Promise<string[]> {
  const dirs = await Promise.all(
    ["opt/homebrew/opt", "usr/local/opt"].map(async (path) => {
      const packages = await readdir(join(root, path)).catch(() => []);
      return packages
        .filter((name) => /^postgresql@[0-9]+$/.test(name))
        .map((name) => join(root, path, name));
    }),
  );
  const major = (dir: string) => Number(dir.split("@")[1]);
  return dirs
    .flat()
    .toSorted((one, other) => major(other) - major(one))
    .map((dir) => join(dir, "bin"));
}

function fetchedIn(dataDir: string): string {
  return join(dataDir, "postgresql");
}

function byHand(why: string, machine: Machine): string {
  const command = installCommand(machine, ["postgres"]) ?? "your system's package of it";
  return [
    `These tests need PostgreSQL ${MIN_MAJOR} or newer. It can't be fetched: ${why}.`,
    `Install its server, or put \`postgres\` and \`initdb\` on PATH. Here: ${command}`,
  ].join("\n");
}
