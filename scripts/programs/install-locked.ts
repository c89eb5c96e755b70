import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isInstalled } from "../set-up/lockfile.mjs";
import { npm } from "../set-up/npm.mjs";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";

const MANIFEST = ["package.json", "package-lock.json", ".npmrc"];

/**
 * Installs what the lockfile of a folder lists into another folder, unless it is there: packages that only some commands need, and `npm start` never.
 * Processes that want the same folder at once wait for the first.
 *
 * @param from the folder of the manifest, the lockfile and `.npmrc`
 * @param home made where it is missing
 * @param args of `npm install`
 */
export async function installLocked(from: string, home: string, args: readonly string[] = []): Promise<void> {
  await mkdir(home, { recursive: true });
  await withSetUpLock(home, async () => {
    for (const name of MANIFEST) await copyFile(join(from, name), join(home, name));
    const read = (path: string) => JSON.parse(readFileSync(join(home, path), "utf8"));
    const installed = "node_modules/.package-lock.json";
    const have = existsSync(join(home, installed)) ? read(installed) : undefined;
    if (!isInstalled(read("package-lock.json"), have))
      await npm(["install", ...args], { cwd: home, node: process.execPath });
  });
}
