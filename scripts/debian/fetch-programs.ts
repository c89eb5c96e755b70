import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AptSandbox } from "./apt-sandbox.ts";
import { deriveDebianSources } from "./debian-sources.ts";
import { readAptSources } from "./apt-sources.ts";
import { runQuietly } from "../run-quietly.ts";

/** The oldest Debian release whose nats-server is 2.12 or newer and whose Prometheus is 3 or newer. */
export const SUITE = "forky";

/**
 * Puts programs of Debian packages of the same name into `<dataDir>/bin`, or another folder of it. They are one binary each that needs libc
 * at most, so the package's release need not be the machine's. Everything else is done in a folder that is removed again; the machine's own
 * sources, package lists and packages are only read. Needs no root.
 *
 * @param place `cli-plugins`: for what the packages have as plugins of Docker's command
 * @throws Error that says why not
 */
export async function fetchPrograms(
  names: readonly string[],
  dataDir: string,
  place: "bin" | "cli-plugins" = "bin",
): Promise<void> {
  const sources = deriveDebianSources(await readAptSources(), SUITE);
  if (sources === "") throw new Error("there is no Debian archive among this machine's package sources");
  await mkdir(join(dataDir, place), { recursive: true });
  const folder = await mkdtemp(join(dataDir, "fetch-"));
  try {
    const apt = await AptSandbox.create(join(folder, "apt"), sources);
    await apt.update();
    for (const name of names) await install(apt, name, { folder, target: join(dataDir, place, name) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function install(
  apt: AptSandbox,
  name: string,
  { folder, target }: { folder: string; target: string },
): Promise<void> {
  const packageFile = await apt.download(name, folder);
  const unpacked = join(folder, `${name}.unpacked`);
  await runQuietly("dpkg-deb", ["--extract", packageFile, unpacked]);
  const draft = join(folder, `${name}.draft`);
  await copyFile(await findBinary(unpacked, name), draft);
  await chmod(draft, 0o755);
  // Renaming is one step: another process sees the whole binary or none.
  await rename(draft, target);
}

async function findBinary(unpacked: string, name: string): Promise<string> {
  const files = await readdir(unpacked, { recursive: true });
  const path = files.find((file) => file.endsWith(`bin/${name}`) || file.endsWith(`cli-plugins/${name}`));
  if (path === undefined) throw new Error(`the package ${name} holds no program`);
  return join(unpacked, path);
}
