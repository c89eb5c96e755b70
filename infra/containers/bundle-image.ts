import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { readManifest } from "../../scripts/pack/public-packages.ts";
import { findRuntimePackages, packageName } from "../../scripts/release/runtime-packages.ts";
import { writeSbom } from "../../scripts/release/sbom.ts";
import type { LockedPackage, Lockfile } from "../../scripts/release/versions.ts";
import type { ServiceImage } from "./images.ts";
import type { SystemPackage } from "./system-packages.ts";

/** Not bundled: a binary, which the two services that query Parquet load. */
const DUCKDB = "@duckdb/node-api";
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)/i;

/**
 * Writes what an image holds beside Node: each entry as one module with all that it imports, which Node loads in a fraction of the time that
 * it takes for hundreds of files; DuckDB where it is imported; the bill of materials, and the licences of what is in it.
 *
 * @param root the repository, with its dependencies installed
 * @param system Node and what else the image has from its base image
 */
export async function bundleImage(
  image: ServiceImage,
  root: string,
  dir: string,
  system: readonly SystemPackage[],
): Promise<void> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as Lockfile;
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
  const imports = output.flatMap((file) => (file.type === "chunk" ? [...file.imports] : []));
  if (imports.includes(DUCKDB)) await copyPackages(lock, `node_modules/${DUCKDB}`, root, dir);

  const roots = image.workspaces.map((name) => `node_modules/${name}`);
  const packages = findInstalled(findRuntimePackages(lock, roots).packages, root);
  await describe(image, packages, system, root, dir);
  await writeLicences(packages, system, root, dir);
}

/** Without what npm leaves out because it is for another system. */
function findInstalled(
  packages: ReadonlyMap<string, LockedPackage>,
  root: string,
): ReadonlyMap<string, LockedPackage> {
  const isLeftOut = (path: string, { optional }: LockedPackage) =>
    optional === true && !existsSync(join(root, path));
  return new Map([...packages].filter(([path, locked]) => !isLeftOut(path, locked)));
}

async function copyPackages(lock: Lockfile, path: string, root: string, dir: string): Promise<void> {
  for (const place of findInstalled(findRuntimePackages(lock, [path]).packages, root).keys())
    await cp(join(root, place), join(dir, place), { recursive: true, dereference: true });
}

async function describe(
  image: ServiceImage,
  packages: ReadonlyMap<string, LockedPackage>,
  system: readonly SystemPackage[],
  root: string,
  dir: string,
): Promise<void> {
  const { version, license = "" } = readManifest(root);
  const workspaces = [...packages.keys()].filter((path) => !path.includes("node_modules/"));
  const subject = { name: `reprise-${image.name}`, version, license, workspaces };
  const { problems } = await writeSbom(join(dir, "sbom.cdx.json"), {
    subject,
    type: "application",
    packages,
    others: system.map(({ component }) => component),
  });
  if (problems.length > 0) throw new Error(problems.join("\n"));
}

/** Licences ask for their texts to be handed on, and a bundle leaves them out. */
async function writeLicences(
  packages: ReadonlyMap<string, LockedPackage>,
  system: readonly SystemPackage[],
  root: string,
  dir: string,
): Promise<void> {
  const texts = [await readFile(join(root, "LICENSE"), "utf8")];
  for (const [path, locked] of packages) {
    if (locked.link === true || !path.includes("node_modules/")) continue;
    const files = (await readdir(join(root, path))).filter((file) => LICENCE_FILE.test(file));
    for (const file of files.toSorted()) {
      const title = `${packageName(path, locked)} ${locked.version}, ${locked.license}`;
      texts.push(`${title}\n\n${await readFile(join(root, path, file), "utf8")}`);
    }
  }
  for (const { component, licenceText } of system)
    texts.push(`${component.name} ${component.version}\n\n${licenceText}`);
  await writeFile(join(dir, "LICENCES"), texts.join(`\n${"-".repeat(80)}\n\n`));
}
