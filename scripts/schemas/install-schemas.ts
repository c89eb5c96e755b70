import { join } from "node:path";
import { installLocked } from "../programs/install-locked.ts";

/**
 * Installs the packages of `package.json` beside this file into the data folder, unless they are there: schemas that others keep of
 * Kubernetes, KEDA, the Prometheus Operator, Compose and Envoy, and the libraries that read them. 90 MB, which only tests need.
 *
 * @param dataDir absolute
 * @returns the folder of the packages
 */
export async function installSchemas(dataDir: string): Promise<string> {
  const home = join(dataDir, "schemas");
  await installLocked(import.meta.dirname, home, ["--ignore-scripts"]);
  return join(home, "node_modules");
}
