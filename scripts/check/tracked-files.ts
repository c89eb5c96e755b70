import { dirname } from "node:path";

/** Longer files hold more than one idea. Tests list cases, which may run longer. */
const MAX_SOURCE_LINES = 400;
const MAX_TEST_LINES = 500;
/** A folder of more source files than that is two folders. */
const MAX_FOLDER_FILES = 15;

/** Split, so that this file holds none of the names that it forbids. */
const WELL_KNOWN_REGISTRIES = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["deb", "debian", "org"],
  ["security", "debian", "org"],
].map((labels) => labels.join("."));

/**
 * What is wrong with a file of the repository, in words; nothing when it is fine.
 *
 * A registry's host name pins every clone of the repository to that host, where a machine may reach only a mirror.
 *
 * @param registries further host names that must not appear: those that this machine is set up with
 */
export function findProblems(path: string, text: string, registries: readonly string[] = []): string[] {
  const problems = [...WELL_KNOWN_REGISTRIES, ...registries]
    .filter((host) => text.includes(host))
    .map((host) => `${path} names the package registry ${host}`);
  const limit = maxLines(path);
  const lines = text.split("\n").length - 1;
  if (lines > limit) problems.push(`${path} has ${lines} lines; at most ${limit}`);
  return [...new Set(problems)];
}

/** The folders that have too many source files, in words. Tests and fixtures stand beside their source and count with it. */
export function findCrowdedFolders(paths: readonly string[]): string[] {
  const sources = paths.filter((path) => isSource(path) && !/\.(test|fixture)\.ts$/.test(path));
  return [...Map.groupBy(sources, dirname)]
    .filter(([, files]) => files.length > MAX_FOLDER_FILES)
    .map(([folder, files]) => `${folder} has ${files.length} source files; at most ${MAX_FOLDER_FILES}`);
}

function maxLines(path: string): number {
  if (!isSource(path)) return Infinity;
  return path.endsWith(".test.ts") ? MAX_TEST_LINES : MAX_SOURCE_LINES;
}

function isSource(path: string): boolean {
  return /\.(ts|mjs|cjs|js)$/.test(path);
}
