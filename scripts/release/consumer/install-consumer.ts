import { copyFile, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { run } from "../../pack/run.ts";

/** A project that has installed the package, and the programs of `program`, as a user would have it. */
export interface Consumer extends AsyncDisposable {
  readonly folder: string;
}

export interface InstallConsumerOptions {
  /** The package's name, and the folder of `program` that uses it. */
  readonly name: string;
  /** The package, behind those of ours that it needs. */
  readonly files: readonly string[];
  /** The Node that npm runs on. */
  readonly node: string;
  /** Its dependencies as packages: where they are given, nothing is asked of a registry. */
  readonly dependencies?: readonly string[] | undefined;
}

/** Installs a package in an empty project, by the command that its README gives. Packages of ours that it needs lie beside it. */
export async function installConsumer(options: InstallConsumerOptions): Promise<Consumer> {
  const { name, files, node, dependencies } = options;
  const folder = await mkdtemp(join(tmpdir(), "reprise-consumer-"));
  const env = { ...process.env, PATH: [dirname(node), process.env["PATH"]].join(delimiter) };
  const quiet = ["--no-audit", "--no-fund", ...(dependencies === undefined ? [] : ["--offline"])];
  const npm = (args: readonly string[]) => run("npm", [...args, ...quiet], { cwd: folder, env });
  await writeFile(join(folder, "package.json"), "{}");
  for (const file of files) await copyFile(file, join(folder, basename(file)));
  if (dependencies !== undefined && dependencies.length > 0) await npm(["install", ...dependencies]);
  await npm(await readInstallCommand(files.at(-1) ?? ""));
  await cp(join(import.meta.dirname, "program", name.replace("@reprise/", "")), folder, { recursive: true });
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/** What follows `npm` in the first command of the README that installs the package. */
async function readInstallCommand(file: string): Promise<string[]> {
  const { stdout } = await run("tar", ["-xzOf", file, "package/README.md"]);
  const [, command] = /^npm (install .*)$/m.exec(stdout) ?? [];
  if (command === undefined) throw new Error("README.md has no command `npm install`");
  return command.split(" ");
}
