import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { installNode } from "./install-node.mjs";
import { isInstalled, lockedNodeVersion } from "./lockfile.mjs";
import { npm } from "./npm.mjs";
import { withSetUpLock } from "./set-up-lock.mjs";

/**
 * Makes sure that the packages of package-lock.json are installed, and with them the Node that the project runs on.
 * Silent and quick where they are.
 *
 * npm itself runs under Node 24 too: under an older one it picks older majors of packages that need a newer one.
 *
 * @param {string} root of the repository
 * @param {string} dataDir where a Node to install with is kept, if this process's own is too old
 * @returns {Promise<{ node: string, path: string }>} the Node to run commands with, and the `PATH` to give them
 */
export async function installToolchain(root, dataDir) {
  const node = join(root, "node_modules", "node", "bin", "node");
  if (!isCurrent(root) || !existsSync(node)) {
    await withSetUpLock(root, async () => {
      if (isCurrent(root) && existsSync(node)) return;
      console.error("Installing dependencies…");
      const installer = await installNode(
        lockedNodeVersion(readLockfile(root, "package-lock.json")),
        dataDir,
      );
      await npm(["ci"], { cwd: root, node: installer });
      // npm may have been told to run no install scripts, and this package gets its binary by one.
      if (!existsSync(node)) linkNode(installer, node);
    });
  }
  const path = [join(root, "node_modules", ".bin"), dirname(node), process.env["PATH"] ?? ""].join(delimiter);
  return { node, path };
}

/**
 * @param {string} target
 * @param {string} path
 */
function linkNode(target, path) {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
}

/** @param {string} root */
function isCurrent(root) {
  const installed = join("node_modules", ".package-lock.json");
  return isInstalled(
    readLockfile(root, "package-lock.json"),
    existsSync(join(root, installed)) ? readLockfile(root, installed) : undefined,
  );
}

/**
 * @param {string} root
 * @param {string} path
 * @returns {import("./lockfile.mjs").Lockfile}
 */
function readLockfile(root, path) {
  return JSON.parse(readFileSync(join(root, path), "utf8"));
}
