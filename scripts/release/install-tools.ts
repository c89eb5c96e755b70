import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { isInstalled } from "../set-up/lockfile.mjs";
import { npm } from "../set-up/npm.mjs";

/** The programs of `tools/package.json`: other runtimes, bundlers and compilers, and what judges packages. */
export interface Tools {
  /** The path of a program. */
  bin(name: string): string;
  /** The path of a file of a package. */
  file(path: string): string;
}

/** Installs the tools into the data folder, unless they are there: 800 MB that nobody needs who does not release. */
export async function installTools(dataDir: string): Promise<Tools> {
  const home = join(dataDir, "release", "tools");
  await mkdir(home, { recursive: true });
  for (const name of ["package.json", "package-lock.json", ".npmrc"])
    await copyFile(join(import.meta.dirname, "tools", name), join(home, name));
  const read = (path: string) => JSON.parse(readFileSync(join(home, path), "utf8"));
  const installed = "node_modules/.package-lock.json";
  if (
    !isInstalled(read("package-lock.json"), existsSync(join(home, installed)) ? read(installed) : undefined)
  )
    await npm(["install"], { cwd: home, node: process.execPath });
  return {
    bin: (name) => join(home, "node_modules/.bin", name),
    file: (path) => join(home, "node_modules", path),
  };
}
