import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fetchPrograms } from "../debian/fetch-programs.ts";
import { runQuietly } from "../run-quietly.ts";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";

/** A program and its first arguments; the folder of a kustomization follows. */
export type KustomizeCommand = readonly [program: string, ...args: string[]];

/**
 * A kustomize: the one on PATH or in kubectl, or one in the data folder, after fetching it where there is none. Of several processes that
 * ask at once, one fetches.
 *
 * @param dataDir absolute
 * @throws Error that says what to install by hand
 */
export async function ensureKustomize(dataDir: string): Promise<KustomizeCommand> {
  const present = await findKustomize(dataDir);
  if (present) return present;
  await mkdir(dataDir, { recursive: true });
  await withSetUpLock(dataDir, async () => {
    if (await findKustomize(dataDir)) return;
    console.error("Fetching kustomize from this machine's Debian archive…");
    try {
      await fetchPrograms(["kustomize"], dataDir);
    } catch (error) {
      throw new Error(byHand(error instanceof Error ? error.message : String(error)), { cause: error });
    }
  });
  const fetched = await findKustomize(dataDir);
  if (!fetched) throw new Error(byHand("the fetched one does not run here"));
  return fetched;
}

async function findKustomize(dataDir: string): Promise<KustomizeCommand | undefined> {
  const fetched = join(dataDir, "bin", "kustomize");
  const candidates: readonly { ask: readonly [string, ...string[]]; build: KustomizeCommand }[] = [
    { ask: ["kustomize", "version"], build: ["kustomize", "build"] },
    { ask: ["kubectl", "version", "--client"], build: ["kubectl", "kustomize"] },
    { ask: [fetched, "version"], build: [fetched, "build"] },
  ];
  for (const { ask, build } of candidates) {
    const [program, ...args] = ask;
    const runs = await runQuietly(program, args).then(
      () => true,
      () => false,
    );
    if (runs) return build;
  }
  return undefined;
}

function byHand(why: string): string {
  return [
    `These tests need kustomize. It can't be fetched: ${why}.`,
    "Install kubectl or kustomize (Debian 14: package kustomize; Homebrew: kustomize), so that it is on PATH.",
  ].join("\n");
}
