import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { Workspace } from "./public-packages.ts";
import { runProgram } from "../run-program.ts";

export interface EmitTypesOptions {
  readonly root: string;
  /** Those whose types become part of the package. Any other is imported as an npm package is. */
  readonly workspaces: readonly Workspace[];
  /** The modules whose types are wanted, from the root. */
  readonly entries: readonly string[];
  /** The folder of the package; the types go into its `types`, by the paths that their sources have below `packages`. */
  readonly staging: string;
  /** Lets the modules use Node's own. */
  readonly isForNode: boolean;
}

/** Imports of other modules in a declaration file, of types alone included: `from "…"` and `import("…")`. */
const IMPORTED = /(?<before>from |import\()"(?<specifier>[^"]+)"/g;

/**
 * Writes the declarations of modules and of all that they import of other workspaces, side by side: the former find the latter by path. What no declaration
 * imports, as a function alone uses it, is left out.
 * @returns the packages that the declarations import
 */
export async function emitTypes({
  root,
  workspaces,
  entries,
  staging,
  isForNode,
}: EmitTypesOptions): Promise<string[]> {
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
      types: isForNode ? ["node"] : [],
      typeRoots: [join(root, "node_modules/@types")],
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
  await runProgram(process.execPath, [join(root, "node_modules/@typescript/native/bin/tsc"), "-p", project]);
  await rm(project);

  const installed = new Set<string>();
  // Grows while it is gone through.
  const reached = new Set(entries.map((entry) => toDeclaration(join(root, entry), { root, folder })));
  for (const path of reached) {
    const text = await readFile(path, "utf8");
    const toPublished = (specifier: string): string => {
      const door = doors.get(specifier);
      if (door === undefined && !specifier.startsWith(".")) {
        installed.add(specifier);
        return specifier;
      }
      const module =
        door === undefined
          ? join(dirname(path), specifier.replace(/\.[jt]s$/, ".d.ts"))
          : toDeclaration(join(root, door), { root, folder });
      reached.add(module);
      return toModule(relative(dirname(path), module));
    };
    await writeFile(
      path,
      text.replaceAll(IMPORTED, (_, before, specifier) => `${before}"${toPublished(specifier)}"`),
    );
  }
  for (const name of await readdir(folder, { recursive: true }))
    if (name.endsWith(".d.ts") && !reached.has(join(folder, name))) await rm(join(folder, name));
  return [...installed];
}

/** Where the declarations of a module are. */
function toDeclaration(module: string, { root, folder }: { root: string; folder: string }): string {
  return join(folder, relative(join(root, "packages"), module).replace(/\.ts$/, ".d.ts"));
}

/** Exports of each workspace, by import name: the path of the module, from the root. */
function findDoors(workspaces: readonly Workspace[]): Map<string, string> {
  return new Map(
    workspaces.flatMap(({ folder, manifest: { name, exports = {} } }) =>
      Object.entries(exports).map(([door, path]) => [join(name, door), join(folder, String(path))]),
    ),
  );
}

function toModule(path: string): string {
  return (path.startsWith(".") ? path : `./${path}`).replace(/\.d\.ts$/, ".js");
}
