import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import type { ServiceImage } from "./images.ts";

/** A binary, which can't be bundled, with what it loads. */
const DUCKDB = "@duckdb/node-api";
const DUCKDB_FOLDERS = ["@duckdb", "detect-libc"];
/** The folder of the package that a module is in. */
const PACKAGE = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)/i;

/**
 * Writes what an image holds beside Node: each entry as one module with all that it imports, which Node loads in a fraction of the time that
 * it takes for hundreds of files; DuckDB if it is imported; and the licences of all packages in it.
 *
 * @param root the repository, with its dependencies installed
 */
export async function bundleImage(image: ServiceImage, root: string, dir: string): Promise<void> {
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(image.entries.map((entry) => [entry, join(root, `${entry}.ts`)])),
    platform: "node",
    external: [DUCKDB],
    resolve: { conditionNames: ["source", "node"] },
    output: { dir, format: "esm", entryFileNames: "[name].js", chunkFileNames: "chunks/[name]-[hash].js" },
    logLevel: "warn",
  });
  await writeFile(join(dir, "package.json"), '{ "type": "module" }\n');
  const chunks = output.filter((file) => file.type === "chunk");
  const packages = new Set(
    chunks.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => PACKAGE.exec(id) ?? [])),
  );
  if (chunks.some(({ imports }) => imports.includes(DUCKDB)))
    for (const folder of await copyDuckdb(root, dir)) packages.add(folder);
  await writeLicences([...packages].toSorted(), root, dir);
}

/** @returns the folders of the copied packages */
async function copyDuckdb(root: string, dir: string): Promise<string[]> {
  const modules = join(root, "node_modules");
  for (const folder of DUCKDB_FOLDERS)
    await cp(join(modules, folder), join(dir, "node_modules", folder), { recursive: true });
  const scoped = await readdir(join(modules, "@duckdb"));
  return [...scoped.map((name) => join(modules, "@duckdb", name)), join(modules, "detect-libc")];
}

/** Licences ask for their texts to be handed on, and a bundle leaves them out. */
async function writeLicences(packages: readonly string[], root: string, dir: string): Promise<void> {
  const texts = [await readFile(join(root, "LICENSE"), "utf8")];
  for (const path of packages) {
    const { name, version, license } = JSON.parse(await readFile(join(path, "package.json"), "utf8"));
    const entries = await readdir(path, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && LICENCE_FILE.test(entry.name));
    for (const file of files.map((entry) => entry.name).toSorted())
      texts.push(`${name} ${version}, ${license}\n\n${await readFile(join(path, file), "utf8")}`);
  }
  await writeFile(join(dir, "LICENCES"), texts.join(`\n${"-".repeat(80)}\n\n`));
}
