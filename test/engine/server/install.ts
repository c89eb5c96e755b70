import { mkdir, mkdtemp, open, rename, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { AptSandbox } from "../../../scripts/debian/apt-sandbox.ts";
import { readAptSources } from "../../../scripts/debian/apt-sources.ts";
import { deriveDebianSources } from "../../../scripts/debian/debian-sources.ts";
import { SUITE } from "../../../scripts/debian/fetch-programs.ts";
import { runQuietly } from "../../../scripts/run-quietly.ts";
import { encodeRandomModel } from "./random-model.ts";

/** llama-server, and all that it loads: the machine's own libraries are of another release. */
const PACKAGES = [
  "llama.cpp-tools",
  "libllama0",
  "libggml0",
  "libc6",
  "libgcc-s1",
  "libgomp1",
  "libstdc++6",
  "libssl3t64",
  "libzstd1",
  "zlib1g",
];
const DEVICES = [
  ["null", "3"],
  ["zero", "5"],
  ["urandom", "9"],
] as const;

/** Where the model lies in the folder of `installServer`. */
export const MODEL = "/model.gguf";

/**
 * A folder to which llama-server can change its root, with a model in it. Made once, of Debian's packages, where it is not there yet.
 * @throws Error that says why not
 */
export async function installServer(dataDir: string): Promise<string> {
  const target = join(dataDir, "llama");
  if (await exists(target)) return target;
  const sources = deriveDebianSources(await readAptSources(), SUITE);
  if (sources === "") throw new Error("there is no Debian archive among this machine's package sources");
  await mkdir(dataDir, { recursive: true });
  const folder = await mkdtemp(join(dataDir, "llama-"));
  try {
    const apt = await AptSandbox.create(join(folder, "apt"), sources);
    await apt.update();
    const root = join(folder, "root");
    for (const name of PACKAGES) {
      await runQuietly("dpkg-deb", ["--extract", await apt.download(name, folder), root]);
    }
    for (const name of ["bin", "lib", "lib64"]) await linkToUsr(root, name);
    await mkdir(join(root, "dev"), { recursive: true });
    await mkdir(join(root, "tmp"), { recursive: true });
    for (const [name, minor] of DEVICES) {
      await runQuietly("mknod", ["-m", "666", join(root, "dev", name), "c", "1", minor]);
    }
    await writeModel(join(root, MODEL));
    await rename(root, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return target;
}

async function linkToUsr(root: string, name: string): Promise<void> {
  if (!(await exists(join(root, name)))) await symlink(`usr/${name}`, join(root, name));
}

async function writeModel(path: string): Promise<void> {
  await using file = await open(path, "w");
  for (const bytes of encodeRandomModel()) await file.appendFile(bytes);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
