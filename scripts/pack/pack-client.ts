import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, dirname } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";

const run = promisify(execFile);

const WIRE = "@reprise/protocol/wire";

export interface PackOptions {
  /** The repository. */
  readonly root: string;
  /** Where the package goes. */
  readonly folder: string;
}

/**
 * Packs the SDK as one module without dependencies at run time, and its types. The types are those of the protocol too, which has them
 * from zod: so zod is installed with the package, and no program loads it.
 * @returns the path of the package
 */
export async function packClient({ root, folder }: PackOptions): Promise<string> {
  const staging = await mkdtemp(join(tmpdir(), "reprise-client-"));
  try {
    await bundle(join(root, "packages/client/src/index.ts"), join(staging, "index.js"));
    await emitTypes(root, join(staging, "types"));
    await cp(join(root, "packages/client/README.md"), join(staging, "README.md"));
    await cp(join(root, "LICENSE"), join(staging, "LICENSE"));
    await writeFile(join(staging, "package.json"), JSON.stringify(await manifest(root), null, 2));
    const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: staging });
    return join(folder, stdout.trim());
  } finally {
    await rm(staging, { recursive: true });
  }
}

async function bundle(input: string, file: string): Promise<void> {
  const build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  await build.write({ file, format: "esm" });
  await build.close();
}

/** The declarations of the client and of the protocol's door for clients, side by side; the former find the latter by path. */
async function emitTypes(root: string, folder: string): Promise<void> {
  await mkdir(folder);
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      allowJs: false,
      checkJs: false,
      types: [],
      // Found through node_modules it would count as an installed package, whose declarations are not emitted.
      paths: { [WIRE]: [join(root, "packages/protocol/src/wire.ts")] },
      rootDir: join(root, "packages"),
      outDir: folder,
    },
    include: [],
    files: [join(root, "packages/client/src/index.ts")],
  };
  const project = join(dirname(folder), "tsconfig.json");
  await writeFile(project, JSON.stringify(config));
  await run(process.execPath, [join(root, "node_modules/@typescript/native/bin/tsc"), "-p", project]);
  await rm(project);
  const wire = join(folder, "protocol/src/wire.js");
  for (const entry of await readdir(folder, { recursive: true })) {
    if (!entry.endsWith(".d.ts")) continue;
    const path = join(folder, entry);
    const own = relative(dirname(path), wire);
    const text = await readFile(path, "utf8");
    await writeFile(
      path,
      text
        .replaceAll(`"${WIRE}"`, `"${own.startsWith(".") ? own : `./${own}`}"`)
        .replaceAll(/(from "\.[^"]*|import\("\.[^"]*)\.ts"/g, '$1.js"'),
    );
  }
}

async function manifest(root: string): Promise<object> {
  const read = async (name: string) =>
    JSON.parse(await readFile(join(root, "packages", name, "package.json"), "utf8")) as Record<
      string,
      unknown
    >;
  const { name, version, license } = await read("client");
  const { dependencies } = await read("protocol");
  return {
    name,
    version,
    license,
    type: "module",
    exports: { ".": { types: "./types/client/src/index.d.ts", default: "./index.js" } },
    sideEffects: false,
    dependencies,
  };
}
