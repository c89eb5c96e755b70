/** Longer files hold more than one idea. */
const MAX_LINES = 500;

/** Split, so that this file holds none of the names that it forbids. */
const WELL_KNOWN_REGISTRIES = [
  ["registry", "npmjs", "org"],
  ["registry", "yarnpkg", "com"],
  ["deb", "debian", "org"],
  ["security", "debian", "org"],
].map((labels) => labels.join("."));

/**
 * Returns the problems of a file of the repository.
 *
 * A registry's host name pins every clone of the repository to that host, where a machine may reach only a mirror.
 *
 * @param registries further host names that must not appear: those that this machine is set up with
 */
export function findProblems(path: string, text: string, registries: readonly string[] = []): string[] {
  const problems = [...WELL_KNOWN_REGISTRIES, ...registries]
    .filter((host) => text.includes(host))
    .map((host) => `${path} names the package registry ${host}`);
  const lines = text.split("\n").length - 1;
  if (isSource(path) && lines > MAX_LINES) problems.push(`${path} has ${lines} lines; at most ${MAX_LINES}`);
  return [...new Set(problems)];
}

function isSource(path: string): boolean {
  return /\.(ts|mjs|cjs|js)$/.test(path);
}
