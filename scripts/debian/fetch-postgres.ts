import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AptSandbox } from "./apt-sandbox.ts";
import { readAptSources } from "./apt-sources.ts";
import { deriveDebianSources } from "./debian-sources.ts";
import { runQuietly } from "../run-quietly.ts";

/** Of what a server's package depends on, what it can't run without. LLVM is for compiling queries, which it does without; libc is the machine's. */
const isWanted = (name: string) => name.startsWith("lib") && !/^(libllvm|libc6$|libc-bin$)/.test(name);

/**
 * Unpacks PostgreSQL's server and its libraries into a folder: the version that is the default of the machine's own Debian release, as its
 * binaries need that release's libc. Only libraries that the machine does not have are fetched. Needs no root.
 *
 * @param target is replaced; binaries are in its `usr/lib/postgresql/<major>/bin`
 * @throws Error that says why not
 */
export async function fetchPostgres(target: string): Promise<void> {
  const sources = deriveDebianSources(await readAptSources(), await ownSuite());
  if (sources === "") throw new Error("there is no Debian archive among this machine's package sources");
  await mkdir(join(target, ".."), { recursive: true });
  const folder = await mkdtemp(`${target}-fetch-`);
  try {
    const apt = await AptSandbox.create(join(folder, "apt"), sources);
    await apt.update();
    const unpacked = join(folder, "root");
    const unpack = async (name: string): Promise<readonly string[]> => {
      const dir = await mkdtemp(join(folder, "package-"));
      const file = await apt.download(name, dir);
      await runQuietly("dpkg-deb", ["--extract", file, unpacked]);
      return dependenciesIn(await runQuietly("dpkg-deb", ["--field", file, "Depends"]));
    };
    const server = (await unpack("postgresql")).find((name) => /^postgresql-[0-9]+$/.test(name));
    if (server === undefined) throw new Error("the package postgresql names no server");
    const known = new Set<string>();
    let next = (await unpack(server)).filter(isWanted);
    while (next.length > 0 && (await lacksLibraries(unpacked))) {
      for (const name of next) known.add(name);
      const found = await Array.fromAsync(next, unpack);
      next = [...new Set(found.flat())].filter((name) => isWanted(name) && !known.has(name));
    }
    await rm(target, { recursive: true, force: true });
    await rename(unpacked, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Where the libraries of a folder of unpacked packages are. */
export async function libraryDirs(root: string): Promise<string[]> {
  const dirs = await Promise.all(
    ["usr/lib", "lib"].map(async (lib) => {
      const entries = await readdir(join(root, lib)).catch(() => []);
      return entries.filter((entry) => entry.includes("-linux-")).map((entry) => join(root, lib, entry));
    }),
  );
  return dirs.flat();
}

/** Paths of the binaries of all servers in a folder of unpacked packages, or of a machine's own root. */
export async function serverDirs(root: string): Promise<string[]> {
  const dir = join(root, "usr/lib/postgresql");
  const majors = await readdir(dir).catch(() => []);
  return majors.toSorted((one, other) => Number(other) - Number(one)).map((major) => join(dir, major, "bin"));
}

async function lacksLibraries(root: string): Promise<boolean> {
  const [dir = root] = await serverDirs(root);
  const env = { LD_LIBRARY_PATH: (await libraryDirs(root)).join(":") };
  return (await runQuietly("ldd", [join(dir, "postgres")], { env })).includes("not found");
}

async function ownSuite(): Promise<string> {
  const release = await readFile("/etc/os-release", "utf8").catch(() => "");
  const [, suite] = /^VERSION_CODENAME=([a-z]+)$/m.exec(release) ?? [];
  if (suite === undefined || !/^ID=debian$/m.test(release))
    throw new Error("this machine's system is not a Debian release");
  return suite;
}

/** Names of the packages of a `Depends:`, of alternatives the first. */
function dependenciesIn(depends: string): string[] {
  return depends.split(",").flatMap((dependency) => /^\s*([a-z0-9.+-]+)/.exec(dependency)?.[1] ?? []);
}
