import { posix } from "node:path";
import type { LockedPackage, Lockfile } from "./versions.ts";

export interface RuntimePackages {
  /** By their place on disk: what these folders need to run, they themselves and links to workspaces included. */
  readonly packages: ReadonlyMap<string, LockedPackage>;
  /** Optional packages that package-lock.json does not have: no machine gets them, be it of the system that they are for. */
  readonly absent: readonly string[];
}

/**
 * Follows the dependencies of workspaces through package-lock.json as Node would find them, development's left out. `npm sbom --omit dev`
 * leaves out what any workspace has among its devDependencies, though another one needs it to run.
 * @throws Error for a dependency that package-lock.json does not have
 */
export function findRuntimePackages(lock: Lockfile, folders: readonly string[]): RuntimePackages {
  const packages = new Map<string, LockedPackage>();
  const absent = new Set<string>();
  const waiting = [...folders];
  for (const path of waiting) {
    const locked = lock.packages[path];
    if (locked === undefined) throw new Error(`package-lock.json has no ${path}`);
    if (packages.has(path)) continue;
    packages.set(path, locked);
    if (locked.link === true) waiting.push(locked.resolved!);
    for (const [name, isOptional] of dependenciesOf(locked)) {
      const found = resolve(lock, path, name);
      if (found !== undefined) waiting.push(found);
      else if (isOptional) absent.add(name);
      else throw new Error(`package-lock.json has no ${name}, which ${path} needs`);
    }
  }
  return { packages, absent: [...absent].toSorted() };
}

function dependenciesOf(locked: LockedPackage): [name: string, isOptional: boolean][] {
  const names = (dependencies: Readonly<Record<string, string>> = {}) => Object.keys(dependencies);
  const isOptionalPeer = (name: string) => locked.peerDependenciesMeta?.[name]?.optional === true;
  return [
    ...names(locked.dependencies).map((name): [string, boolean] => [name, false]),
    ...names(locked.optionalDependencies).map((name): [string, boolean] => [name, true]),
    ...names(locked.peerDependencies)
      .filter((name) => !isOptionalPeer(name))
      .map((name): [string, boolean] => [name, false]),
  ];
}

/** Where Node finds a package that a module in `from` imports: the nearest `node_modules` upwards. */
function resolve(lock: Lockfile, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = posix.dirname(folder)) {
    const path = posix.join(folder, "node_modules", name);
    if (path in lock.packages) return path;
    if (folder === ".") return undefined;
  }
}

/** The name of a package at a place: the lockfile says it only where it is not that of the folder. */
export function packageName(path: string, { name }: LockedPackage): string {
  return name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
