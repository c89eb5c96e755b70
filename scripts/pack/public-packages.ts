import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The fields of a `package.json` that packing reads. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly private?: boolean;
  readonly workspaces?: readonly string[];
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  /** Fields that replace those of this manifest in the package. Only a workspace that has it is public. */
  readonly publishConfig?: Readonly<Record<string, unknown>>;
}

export interface Workspace {
  /** From the root, as package-lock.json names it. */
  readonly folder: string;
  readonly manifest: Manifest;
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** All workspaces of the repository, by folder. */
export function readWorkspaces(root: string): Workspace[] {
  const patterns = (readManifest(root).workspaces ?? []).map((pattern) => `${pattern}/package.json`);
  return globSync(patterns, { cwd: root })
    .map((path) => dirname(path))
    .toSorted()
    .map((folder) => ({ folder, manifest: readManifest(join(root, folder)) }));
}

/** Lists the public workspaces, each after those that it depends on. */
export function findPublic(workspaces: readonly Workspace[]): Workspace[] {
  const found = workspaces.filter(isPublic);
  const sorted = new Set<Workspace>();
  const add = (workspace: Workspace): void => {
    for (const needed of found)
      if (needed.manifest.name in (workspace.manifest.dependencies ?? {})) add(needed);
    sorted.add(workspace);
  };
  for (const workspace of found) add(workspace);
  return [...sorted];
}

export function isPublic({ manifest }: Workspace): boolean {
  return manifest.publishConfig !== undefined;
}
