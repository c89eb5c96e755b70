import { join } from "node:path";
import { installLocked } from "../programs/install-locked.ts";

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
  await installLocked(join(import.meta.dirname, "tools"), home);
  return {
    bin: (name) => join(home, "node_modules/.bin", name),
    file: (path) => join(home, "node_modules", path),
  };
}
