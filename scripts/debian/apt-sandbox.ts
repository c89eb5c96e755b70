import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runQuietly } from "../run-quietly.ts";

/**
 * An apt of its own in a folder: its own sources, lists, cache and (empty) idea of what is installed. From the machine's
 * configuration it takes how to download (proxies, timeouts) and the keys; not its hooks, which work on the machine's own lists.
 */
export class AptSandbox {
  readonly #configFile: string;

  private constructor(configFile: string) {
    this.#configFile = configFile;
  }

  static async create(dir: string, sources: string): Promise<AptSandbox> {
    await mkdir(join(dir, "state", "lists", "partial"), { recursive: true });
    await mkdir(join(dir, "cache", "archives", "partial"), { recursive: true });
    await writeFile(join(dir, "debian.sources"), sources);
    await writeFile(join(dir, "status"), "");
    const configFile = join(dir, "apt.conf");
    await writeFile(configFile, `${await downloadSettings()}\n${ownSettings(dir)}\n`);
    return new AptSandbox(configFile);
  }

  async update(): Promise<void> {
    await this.#run(["update"]);
  }

  /** Downloads a package into `dir` and gives the path of its file. */
  async download(name: string, dir: string): Promise<string> {
    await this.#run(["download", name], dir);
    const file = (await readdir(dir)).find((entry) => entry.startsWith(`${name}_`) && entry.endsWith(".deb"));
    if (file === undefined) throw new Error(`apt-get downloaded no package ${name}`);
    return join(dir, file);
  }

  #run(args: readonly string[], cwd?: string): Promise<string> {
    return runQuietly("apt-get", ["-qq", ...args], { cwd, env: { APT_CONFIG: this.#configFile } });
  }
}

async function downloadSettings(): Promise<string> {
  const settings = await runQuietly("apt-config", ["dump"]);
  return settings
    .split("\n")
    .filter((line) => line.startsWith("Acquire::"))
    .join("\n");
}

/** apt reads the file that APT_CONFIG names first, and learns there that there is no other. */
function ownSettings(dir: string): string {
  const settings = {
    "Dir::Etc::main": "/dev/null",
    "Dir::Etc::parts": "/dev/null",
    "Dir::Etc::sourcelist": join(dir, "debian.sources"),
    "Dir::Etc::sourceparts": "/dev/null",
    "Dir::Etc::preferences": "/dev/null",
    "Dir::Etc::preferencesparts": "/dev/null",
    "Dir::State": join(dir, "state"),
    "Dir::State::status": join(dir, "status"),
    "Dir::Cache": join(dir, "cache"),
    "Acquire::Languages": "none",
    // As root, apt would hand its downloads to a user who may not enter the data folder.
    "APT::Sandbox::User": "root",
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} "${value}";`)
    .join("\n");
}
