import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isInstalled } from "../set-up/lockfile.mjs";
import { npm } from "../set-up/npm.mjs";
import { withSetUpLock } from "../set-up/set-up-lock.mjs";

const HOME = resolve(import.meta.dirname, "../..", process.env["REPRISE_DATA_DIR"] || ".reprise", "schemas");

/**
 * Installs the packages of `package.json` beside this file into the data folder, unless they are there: schemas that others keep of
 * Kubernetes, KEDA, the Prometheus Operator and Compose, and Ajv. Only tests need them. One of several processes installs, the others wait.
 *
 * @returns the folder of the packages
 */
export async function installSchemas(): Promise<string> {
  await mkdir(HOME, { recursive: true });
  await withSetUpLock(HOME, async () => {
    for (const name of ["package.json", "package-lock.json", ".npmrc"])
      await copyFile(join(import.meta.dirname, name), join(HOME, name));
    const read = (path: string) => JSON.parse(readFileSync(join(HOME, path), "utf8"));
    const installed = "node_modules/.package-lock.json";
    const have = existsSync(join(HOME, installed)) ? read(installed) : undefined;
    if (!isInstalled(read("package-lock.json"), have))
      await npm(["install", "--ignore-scripts"], { cwd: HOME, node: process.execPath });
  });
  return join(HOME, "node_modules");
}
