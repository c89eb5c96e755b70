import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "../pack/public-packages.ts";

/** All that a public package may hold. */
const FILE = /^(package\.json|README\.md|LICENSE|dist\/[\w-]+\.js(\.map)?|types\/[\w/-]+\.d\.ts)$/;

/** What a page, a worker and a phone do not have. */
const OF_NODE = /node:|\bprocess\.|\bBuffer\b|\brequire\(/;

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

export interface UnpackedPackage {
  /** The repository that it was built from. */
  readonly root: string;
  /** Where it lies unpacked. */
  readonly folder: string;
  readonly version: string;
}

/** What is wrong with the files of a package: one too many, a source map of other sources, an import that not every runtime has. */
export function findPackageProblems({ root, folder, version }: UnpackedPackage): string[] {
  const files = globSync("**", { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
  return [
    ...files.filter((file) => !FILE.test(file)).map((file) => `holds ${file}`),
    ...["README.md", "LICENSE", "dist/index.js", "dist/index.js.map"]
      .filter((file) => !files.includes(file))
      .map((file) => `has no ${file}`),
    ...findManifestProblems(
      JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest,
      version,
    ),
    ...files.filter((file) => file.endsWith(".js")).flatMap((file) => findModuleProblems(root, folder, file)),
  ];
}

function findManifestProblems(manifest: Manifest, version: string): string[] {
  const problems: string[] = [];
  if (manifest.private === true) problems.push("is private");
  if (manifest.version !== version) problems.push(`has version ${manifest.version}, not ${version}`);
  if (manifest.license === undefined) problems.push("names no licence");
  for (const [name, wanted] of Object.entries(manifest.dependencies ?? {}))
    if (!/^\^?\d/.test(wanted))
      problems.push(`depends on ${name}@${wanted}, which is no version of a registry`);
  return problems;
}

function findModuleProblems(root: string, folder: string, file: string): string[] {
  const code = readFileSync(join(folder, file), "utf8");
  const problems: string[] = [];
  const ofNode = OF_NODE.exec(code);
  if (ofNode !== null) problems.push(`${file} has ${ofNode[0]}, which Node alone has`);
  const mapPath = join(folder, `${file}.map`);
  if (!existsSync(mapPath)) return [...problems, `${file} has no source map`];
  const { sources, sourcesContent } = JSON.parse(readFileSync(mapPath, "utf8")) as SourceMap;
  if (sources.length === 0) problems.push(`${file}.map has no sources`);
  for (const [index, source] of sources.entries()) {
    const path = join(root, "dist", source);
    if (!existsSync(path) || readFileSync(path, "utf8") !== sourcesContent[index])
      problems.push(`${file}.map has another ${source} than the repository`);
  }
  return problems;
}
