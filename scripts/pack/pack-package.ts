import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { type OutputChunk, rolldown } from "rolldown";
import { runProgram } from "../run-program.ts";
import { emitTypes } from "./emit-types.ts";
import { isPublic, type Workspace } from "./public-packages.ts";

export interface PackOptions {
  /** The repository. */
  readonly root: string;
  /** All of the repository's workspaces: what of them the package imports becomes part of it. */
  readonly workspaces: readonly Workspace[];
  /** Where the package goes. */
  readonly folder: string;
}

/**
 * Packs a public workspace: one ECMAScript module for each of its exports and commands, with its source map, and the types of its exports.
 * Its imports from private workspaces are part of both. A package that they import, be it for types alone, is a dependency, of the version that the workspaces name: another public workspace too, so that a
 * program has its classes once.
 * @returns the path of the package
 */
export async function packPackage(packed: Workspace, options: PackOptions): Promise<string> {
  const { root, folder, workspaces } = options;
  const staging = await mkdtemp(join(tmpdir(), "reprise-pack-"));
  try {
    const source = join(root, packed.folder);
    const published = new Set(workspaces.filter((one) => one !== packed && isPublic(one)));
    const names = [...published].map(({ manifest }) => manifest.name);
    const doors = Object.entries(packed.manifest.exports ?? {});
    const commands = Object.values(packed.manifest.bin ?? {}).map((module): [string, string] => [
      `./${basename(module, ".ts")}`,
      module,
    ]);
    const imported: string[] = [];
    for (const [door, module] of [...doors, ...commands])
      imported.push(
        ...(await bundle({
          root,
          input: join(source, String(module)),
          file: join(staging, toFile(door)),
          published: names,
        })),
      );
    const entries = doors.map(([, module]) => join(packed.folder, String(module)));
    const within = workspaces.filter((one) => !published.has(one));
    const typed = await emitTypes({
      root,
      workspaces: within,
      entries,
      staging,
      isForNode: commands.length > 0,
    });
    await cp(join(source, "README.md"), join(staging, "README.md"));
    await cp(join(root, "LICENSE"), join(staging, "LICENSE"));
    const needed = new Set([...imported, ...typed].filter((name) => !isBuiltin(name)).map(toPackageName));
    const manifest = toPublished(packed, findVersions(needed, packed, workspaces));
    await writeFile(join(staging, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
    await mkdir(folder, { recursive: true });
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
    const stdout = await runProgram("npm", pack, { cwd: staging });
    return join(folder, stdout.trim());
  } finally {
    await rm(staging, { recursive: true });
  }
}

/** Where the package has the module of an export (`./json` is `dist/json.js`) or a command (`./src/main.ts` is `dist/main.js`). */
function toFile(door: string): string {
  return `dist/${door === "." ? "index" : door.slice("./".length)}.js`;
}

interface BundleOptions {
  readonly root: string;
  readonly input: string;
  readonly file: string;
  /** Workspaces that are packages of their own. */
  readonly published: readonly string[];
}

/** @returns what of other packages the module imports */
async function bundle({ root, input, file, published }: BundleOptions): Promise<string[]> {
  const build = await rolldown({
    input,
    platform: "browser",
    logLevel: "silent",
    external: (id) => !/^[./]|^@reprise\//.test(id) || published.includes(toPackageName(id)),
  });
  const { output } = await build.write({
    file,
    format: "esm",
    sourcemap: true,
    // Paths of the repository: those of this machine would make each build another one.
    sourcemapPathTransform: (path) => `../${relative(root, join(file, "..", path))}`,
  });
  await build.close();
  return output
    .filter((part): part is OutputChunk => part.type === "chunk")
    .flatMap(({ imports }) => imports);
}

/** `@reprise/client` of `@reprise/client/json`. */
function toPackageName(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The versions of what a package needs: as it names them itself, or else as another workspace does. Its peers are those who use it to install. */
function findVersions(
  names: ReadonlySet<string>,
  { manifest: { dependencies = {}, peerDependencies = {} } }: Workspace,
  workspaces: readonly Workspace[],
): Record<string, string> {
  const known = Object.assign(
    {},
    ...workspaces.map(({ manifest }) => manifest.dependencies ?? {}),
    dependencies,
    ...workspaces.filter(isPublic).map(({ manifest }) => ({ [manifest.name]: `^${manifest.version}` })),
  ) as Record<string, string>;
  return Object.fromEntries(
    [...names]
      .filter((name) => !(name in peerDependencies))
      .toSorted()
      .map((name) => {
        const version = known[name];
        if (version === undefined) throw new Error(`${name} is imported, and no workspace depends on it`);
        return [name, version];
      }),
  );
}

/** The manifest of the package: that of the workspace, with the fields of `publishConfig` in place of its own. */
function toPublished({ manifest }: Workspace, dependencies: Record<string, string>): object {
  const { private: _private, devDependencies: _dev, publishConfig = {}, ...kept } = manifest;
  const { access, ...fields } = publishConfig;
  return { ...kept, ...fields, dependencies, publishConfig: { access } };
}
