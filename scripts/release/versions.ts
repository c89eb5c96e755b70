import type { Workspace } from "../pack/public-packages.ts";

/** Of package-lock.json: what npm would install for each path. */
export interface LockedPackage {
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  /** What needs it runs without it, on machines of another system for one. */
  readonly optional?: boolean;
  /** Of a link: the folder of the workspace. */
  readonly resolved?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface Lockfile {
  readonly version?: string;
  /** By their place on disk, from the root, whose own is "". */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Workspaces depend on each other as `*`, which matches no version like `1.0.0-rc.1`: npm would look for another one in its registry. */
const RELEASED = /^\d+\.\d+\.\d+$/;

/** Where a workspace, or package-lock.json, names another version than the root. */
export function findVersionProblems(
  version: string | undefined,
  workspaces: readonly Workspace[],
  lock: Lockfile,
): string[] {
  if (version === undefined || !RELEASED.test(version))
    return [`package.json has version ${version}; it must be of the form 1.2.3`];
  const named: [where: string, found: string | undefined][] = [
    ["package-lock.json", lock.version],
    ["package-lock.json, root", lock.packages[""]?.version],
    ...workspaces.flatMap(({ folder, manifest }): [string, string | undefined][] => [
      [`${folder}/package.json`, manifest.version],
      [`package-lock.json, ${folder}`, lock.packages[folder]?.version],
    ]),
  ];
  return named
    .filter(([, found]) => found !== version)
    .map(([where, found]) => `${where} has version ${found}; package.json has ${version}`);
}
