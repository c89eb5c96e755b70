import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Workspace } from "./public-packages.ts";
import { run } from "./run.ts";

export interface EmitTypesOptions {
  readonly root: string;
  readonly workspaces: readonly Workspace[];
  /** The modules whose types are wanted, from the root. */
  readonly entries: readonly string[];
  /** The folder of the package; the types go into its `types`, by the paths that their sources have below `packages`. */
  readonly staging: string;
}

/** Imports of other modules in a declaration file, of types alone included: `from "…"` and `import("…")`. */
const IMPORTED = /(?<before>from |import\()"(?<specifier>[^"]+)"/g;

/**
 * Writes the declarations of modules and of all that they import of other workspaces, side by side: the former find the latter by path.
 * @returns the npm packages that the declarations import
 */
export async function emitTypes({ root, workspaces, entries, staging }: EmitTypesOptions): Promise<string[]> {
  const doors = findDoors(workspaces);
  const folder = join(staging, "types");
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      allowJs: false,
      checkJs: false,
      types: [],
      // Found through node_modules they would count as installed packages, whose declarations are not emitted.
      paths: Object.fromEntries([...doors].map(([specifier, path]) => [specifier, [join(root, path)]])),
      rootDir: join(root, "packages"),
      outDir: folder,
    },
    include: [],
    files: entries.map((entry) => join(root, entry)),
  };
  const project = join(staging, "tsconfig.json");
  await writeFile(project, JSON.stringify(config));
  await run(process.execPath, [join(root, "node_modules/@typescript/native/bin/tsc"), "-p", project]);
  await rm(project);

  const installed = new Set<string>();
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".d.ts")) continue;
    const path = join(folder, name);
    const text = await readFile(path, "utf8");
    const toPublished = (specifier: string): string => {
      const door = doors.get(specifier);
      if (door !== undefined)
        return toModule(relative(dirname(path), join(folder, relative("packages", door))));
      if (specifier.startsWith(".")) return toModule(specifier);
      installed.add(specifier);
      return specifier;
    };
    await writeFile(
      path,
      text.replaceAll(IMPORTED, (_, before, specifier) => `${before}"${toPublished(specifier)}"`),
    );
  }
  return [...installed];
}

/** What each workspace exports, by what others import it as: the path of the module, from the root. */
function findDoors(workspaces: readonly Workspace[]): Map<string, string> {
  return new Map(
    workspaces.flatMap(({ folder, manifest: { name, exports = {} } }) =>
      Object.entries(exports).map(([door, path]) => [join(name, door), join(folder, String(path))]),
    ),
  );
}

function toModule(path: string): string {
  return (path.startsWith(".") ? path : `./${path}`).replace(/\.ts$/, ".js");
}
