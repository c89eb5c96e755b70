import { chmod, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { runQuietly } from "../run-quietly.ts";
import { download, type DownloadOptions } from "./download.ts";
import type { Release } from "./releases.ts";

const PROCESSORS: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export interface FetchOptions extends Pick<DownloadOptions, "stallMs"> {
  /** Where archives are found. */
  readonly baseUrl: string;
  /** As Node names them. */
  readonly platform: NodeJS.Platform;
  readonly arch: string;
}

/**
 * Puts the programs of a release into `<dataDir>/bin`: all of them, once the archive's sum is right and each runs here, or none.
 *
 * @throws Error that says why not; WrongSumError when the archive is not the pinned one
 */
export async function fetchRelease(
  release: Release,
  dataDir: string,
  { baseUrl, platform, arch, ...limits }: FetchOptions,
): Promise<void> {
  const { name, version, programs } = release;
  const key = `${platform}-${PROCESSORS[arch] ?? arch}`;
  const sha256 = release.sha256[key];
  if (sha256 === undefined) throw new Error(`${name} ${version} is not pinned for ${key}`);
  const bin = join(dataDir, "bin");
  await mkdir(bin, { recursive: true });
  const folder = await mkdtemp(join(dataDir, "fetch-"));
  try {
    const archive = join(folder, "archive.tar.gz");
    const url = `${baseUrl.replace(/\/+$/, "")}/${release.archive(key)}`;
    await download(url, archive, { sha256, ...limits });
    await runQuietly("tar", ["-xzf", archive, "-C", folder]);
    const unpacked = await Promise.all(programs.map((program) => findProgramIn(folder, program, release)));
    // Renaming is one step: another process sees the whole binary or none.
    await Promise.all(unpacked.map((path, index) => rename(path, join(bin, programs[index]!))));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function findProgramIn(folder: string, program: string, { name, version }: Release): Promise<string> {
  const files = await readdir(folder, { recursive: true });
  const file = files.find((path) => path.endsWith(`/${program}`));
  if (file === undefined) throw new Error(`the release of ${name} ${version} holds no ${program}`);
  const path = join(folder, file);
  await chmod(path, 0o755);
  const notHere = (why: string) =>
    new Error(`the ${program} of ${name} ${version} does not run here: ${why}`);
  const said = await runQuietly(path, ["--version"]).catch((error: Error) => {
    throw notHere(error.message);
  });
  if (!said.includes(version)) throw notHere(`it says ${said.trim()}`);
  return path;
}
