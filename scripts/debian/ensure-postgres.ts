import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";
import { fetchPostgres, libraryDirs, serverDirs } from "./fetch-postgres.ts";
import { runQuietly } from "./run-quietly.ts";

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
 * A PostgreSQL server that is new enough: one on PATH, one that a Debian package has installed, or one in the data folder, after fetching
 * it where there is none. Of several processes that ask at once, one fetches.
 *
 * @param installed the root of what is installed
 * @throws Error that says what to install by hand
 */
export async function ensurePostgres(dataDir: string, installed = "/"): Promise<PostgresPrograms> {
  const present = await findPostgres(dataDir, installed);
  if (present) return present;
  await mkdir(dataDir, { recursive: true });
  await withSetUpLock(dataDir, async () => {
    if (await findPostgres(dataDir, installed)) return;
    console.error("Fetching PostgreSQL from this machine's Debian archive…");
    try {
      await fetchPostgres(fetchedIn(dataDir));
    } catch (error) {
      throw new Error(byHand(error instanceof Error ? error.message : String(error)), { cause: error });
    }
  });
  const fetched = await findPostgres(dataDir, installed);
  if (!fetched) throw new Error(byHand("the fetched one does not run here, or is too old"));
  return fetched;
}

async function findPostgres(dataDir: string, installed: string): Promise<PostgresPrograms | undefined> {
  const onPath = (process.env["PATH"] ?? "").split(delimiter).filter((dir) => dir !== "");
  const fetched = fetchedIn(dataDir);
  const env = { LD_LIBRARY_PATH: (await libraryDirs(fetched)).join(delimiter) };
  const candidates: PostgresPrograms[] = [
    ...[...onPath, ...(await serverDirs(installed))].map((dir) => ({ dir, env: {} })),
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

function fetchedIn(dataDir: string): string {
  return join(dataDir, "postgresql");
}

function byHand(why: string): string {
  return [
    `These tests need PostgreSQL ${MIN_MAJOR} or newer. It can't be fetched: ${why}.`,
    "Install its server (Debian: package postgresql; Homebrew: postgresql), or put `postgres` and `initdb` on PATH.",
  ].join("\n");
}
