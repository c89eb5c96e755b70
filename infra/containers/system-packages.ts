import { readFile, realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { run } from "../../scripts/pack/run.ts";
import type { SbomComponent } from "../../scripts/release/sbom.ts";

/** What an image has from its base image: Node, or a Debian package of a library that Node is linked with. */
export interface SystemPackage {
  readonly component: SbomComponent;
  /** What its licence asks to be handed on with it. */
  readonly licenceText: string;
}

/** What is asked of the system, so that tests can answer. */
export interface System {
  /** What a program prints. @throws Error where it fails */
  run(program: string, args: readonly string[]): Promise<string>;
  /** A file's text; undefined where there is none. */
  read(path: string): Promise<string | undefined>;
  /** The path without symbolic links. */
  realPath(path: string): Promise<string>;
  /** The absolute path of `node`, without symbolic links. */
  readonly node: string;
  /** Without a `v`. */
  readonly nodeVersion: string;
}

/** Debian's own files of copyright have no SPDX expressions for these. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  libc6: "LGPL-2.1-or-later",
  "libgcc-s1": "GPL-3.0-or-later WITH GCC-exception-3.1",
  "libstdc++6": "GPL-3.0-or-later WITH GCC-exception-3.1",
  libatomic1: "GPL-3.0-or-later WITH GCC-exception-3.1",
};
const COMMON_LICENCE = /\/usr\/share\/common-licenses\/[\w.+-]*\w/g;

/**
 * Node, and the Debian packages of the libraries that it is linked with: what the Dockerfile's stage `system` copies, as the same `ldd` names it.
 *
 * @throws Error for a library that belongs to no Debian package
 */
export async function findSystemPackages(system: System = THIS_SYSTEM): Promise<SystemPackage[]> {
  const libraries = (await system.run("ldd", [system.node])).match(/\/\S+/g) ?? [];
  const owners = new Map<string, string[]>();
  for (const library of libraries) {
    const owner = await findOwner(system, library);
    owners.set(owner, [...(owners.get(owner) ?? []), basename(library)]);
  }
  const distro = await readDistro(system);
  const packages = [...owners].toSorted(([one], [other]) => one.localeCompare(other));
  return [
    await describeNode(system),
    ...(await Promise.all(packages.map(([name, files]) => describePackage(system, name, files, distro)))),
  ];
}

/** The package `libc6:amd64` of a file. Where `/lib` is a link to `/usr/lib`, dpkg knows files by one of both paths. */
async function findOwner(system: System, path: string): Promise<string> {
  const real = await system.realPath(path);
  const moved = (one: string) => (one.startsWith("/usr/") ? one.slice("/usr".length) : `/usr${one}`);
  for (const candidate of new Set([path, moved(path), real, moved(real)])) {
    const found = await system.run("dpkg-query", ["--search", candidate]).catch(() => "");
    const [, owner] = /^([\w.+-]+(?::\w+)?): \//m.exec(found) ?? [];
    if (owner !== undefined) return owner;
  }
  throw new Error(`${path}, which node is linked with, belongs to no Debian package`);
}

async function describePackage(
  system: System,
  owner: string,
  files: readonly string[],
  distro: Distro,
): Promise<SystemPackage> {
  const format = "${Package}\\t${Version}\\t${Architecture}\\t${source:Package}";
  const shown = await system.run("dpkg-query", ["--show", `--showformat=${format}`, owner]);
  const [name = "", version = "", arch = "", source = ""] = shown.trim().split("\t");
  const query = `arch=${arch}&distro=${distro.id}-${distro.version}&upstream=${encodeURIComponent(source)}`;
  const expression = EXPRESSIONS[name];
  return {
    component: {
      type: "library",
      name,
      version,
      purl: `pkg:deb/${distro.id}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?${query}`,
      licenses: [expression ? { expression } : { license: { name: `see ${name} in LICENCES` } }],
      properties: files.toSorted().map((file) => ({ name: "reprise:file", value: file })),
    },
    licenceText: await readCopyright(system, name),
  };
}

/** A package's file of copyright, and the licences that it refers to as files of the system. */
async function readCopyright(system: System, name: string): Promise<string> {
  const path = `/usr/share/doc/${name}/copyright`;
  const copyright = await system.read(path);
  if (copyright === undefined) throw new Error(`the base image has no ${path}`);
  const referred = [...new Set(copyright.match(COMMON_LICENCE))].toSorted();
  const texts = await Promise.all(
    referred.map(
      async (licence) => `${licence}:\n\n${(await system.read(licence)) ?? "not in the base image\n"}`,
    ),
  );
  return [copyright, ...texts].join("\n");
}

/** The archive of a release of Node, which official images unpack into /usr/local, has the licences of Node and of all that is in it. */
async function describeNode(system: System): Promise<SystemPackage> {
  const { node, nodeVersion } = system;
  const url = `https://github.com/nodejs/node/blob/v${nodeVersion}/LICENSE`;
  const text = await system.read(join(dirname(dirname(node)), "LICENSE"));
  return {
    component: {
      type: "platform",
      name: "node",
      version: nodeVersion,
      purl: `pkg:generic/node@${nodeVersion}`,
      cpe: `cpe:2.3:a:nodejs:node.js:${nodeVersion}:*:*:*:*:*:*:*`,
      licenses: [{ license: { id: "MIT" } }],
      externalReferences: [{ type: "license", url }],
    },
    licenceText: text ?? `The base image has no file of it: ${url}\n`,
  };
}

interface Distro {
  /** `debian` */
  readonly id: string;
  /** `12` */
  readonly version: string;
}

async function readDistro(system: System): Promise<Distro> {
  const text = (await system.read("/etc/os-release")) ?? "";
  const field = (name: string) => new RegExp(`^${name}="?([\\w.-]+)"?$`, "m").exec(text)?.[1];
  return { id: field("ID") ?? "debian", version: field("VERSION_ID") ?? "unknown" };
}

const THIS_SYSTEM: System = {
  run: async (program, args) => (await run(program, args)).stdout,
  read: (path) =>
    readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    }),
  realPath: (path) => realpath(path),
  node: process.execPath,
  nodeVersion: process.versions.node,
};
