import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type PlatformProcess, startPlatform } from "../../../test/e2e/testing/platform.ts";
import { run } from "../../pack/run.ts";
import type { Tools } from "../install-tools.ts";
import { type Outcome, runStep } from "../step.ts";
import { checkBundlers } from "./check-bundlers.ts";
import { checkRuntimes, type Platform, type Runtime } from "./check-runtimes.ts";
import { checkSnippets } from "./check-snippets.ts";
import { checkTypes, type Compiler } from "./check-types.ts";
import { checkWorker } from "./check-worker.ts";
import { type Consumer, installConsumer } from "./install-consumer.ts";

export interface ConsumersOptions {
  readonly root: string;
  /** The package's name. */
  readonly name: string;
  /** The package, behind those of ours that it needs. */
  readonly files: readonly string[];
  /** Where the packages that it needs lie in the repository: they are installed from there where there are no tools. */
  readonly dependencies: readonly string[];
  readonly tools: Tools | undefined;
  readonly say: (line: string) => void;
}

/** Installs the package in empty projects, checks what its types say there, and reads a running platform with it. */
export async function checkConsumers(options: ConsumersOptions): Promise<boolean> {
  const { root, name, files, tools, say } = options;
  const temporary = await mkdtemp(join(tmpdir(), "reprise-consumers-"));
  const passed: boolean[] = [];
  const step = async (title: string, work: () => Promise<Outcome>) =>
    void passed.push(await runStep(title, work, say));
  await using resources = new AsyncDisposableStack();
  resources.defer(() => rm(temporary, { recursive: true }));
  const started: { platform?: PlatformProcess; consumer?: Consumer } = {};
  await step("platform", async () => {
    started.platform = resources.use(await startPlatform(join(temporary, "platform")));
    return { problems: [] };
  });
  await step("install", async () => {
    const dependencies = tools === undefined ? await packDependencies(options, temporary) : undefined;
    started.consumer = resources.use(
      await installConsumer({ name, files, node: process.execPath, dependencies }),
    );
    return { problems: [] };
  });
  const { platform, consumer } = started;
  // What failed has said so, and nothing can be read without either.
  if (platform === undefined || consumer === undefined) return false;
  const { folder } = consumer;
  const own = { name: `Node ${process.versions.node}`, path: process.execPath };
  await step(own.name, () => checkNode(consumer, platform, own));
  await step("types", () => checkTypes(folder, compilers(root, tools)));
  await step("snippets", () => checkSnippets(folder, { root, name, tsc: nativeCompiler(root).tsc }));
  if (tools !== undefined) {
    for (const node of olderNodes(tools))
      await step(node.name, async () => {
        await using older = await installConsumer({ name, files, node: node.path });
        return await checkNode(older, platform, node);
      });
    await step("runtimes", () => checkRuntimes(folder, platform, otherRuntimes(name, tools)));
    await step("workers", () => checkWorker(folder, platform, tools));
    await step("bundlers", () => checkBundlers(folder, { platform, tools, node: process.execPath }));
  }
  return passed.every(Boolean);
}

interface NodeBinary {
  readonly name: string;
  readonly path: string;
}

function olderNodes(tools: Tools): NodeBinary[] {
  return ["20", "22"].map((major) => ({ name: `Node ${major}`, path: tools.file(`node-${major}/bin/node`) }));
}

async function checkNode(
  { folder }: Consumer,
  platform: Platform,
  { name, path }: NodeBinary,
): Promise<Outcome> {
  const { stdout: version } = await run(path, ["--version"]);
  return checkRuntimes(folder, platform, [
    { name: `Node ${version.trim()}`, command: [path, "main.mjs"] },
    { name: `by require in ${name}`, command: [path, "main.cjs"] },
  ]);
}

function otherRuntimes(name: string, tools: Tools): Runtime[] {
  // `ai` loads a module that asks for the name of the machine.
  const ofAi = name === "@reprise/ai-sdk" ? ["--allow-sys=hostname"] : [];
  const allowed = ["--no-lock", "--allow-net", "--allow-env", ...ofAi];
  return [
    { name: "Deno", command: [tools.bin("deno"), "run", ...allowed, "main.mjs"] },
    { name: "Bun", command: [tools.bin("bun"), "run", "--no-install", "main.mjs"] },
  ];
}

function nativeCompiler(root: string): Compiler {
  return { name: "TypeScript 7", tsc: join(root, "node_modules/@typescript/native/bin/tsc") };
}

/** The oldest versions are those that the package's README names. */
function compilers(root: string, tools: Tools | undefined): Compiler[] {
  const native = nativeCompiler(root);
  if (tools === undefined) return [native];
  return [
    native,
    { name: "TypeScript 5.6", tsc: tools.file("typescript-5.6/bin/tsc") },
    { name: "TypeScript 5.0", tsc: tools.file("typescript-5.0/bin/tsc"), args: ["--skipLibCheck"] },
  ];
}

/** Packs what is installed in the repository, for a project that asks no registry. */
async function packDependencies({ root, dependencies }: ConsumersOptions, folder: string): Promise<string[]> {
  if (dependencies.length === 0) return [];
  const folders = dependencies.map((path) => join(root, path));
  const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder, ...folders];
  const { stdout } = await run("npm", pack, { cwd: folder });
  return stdout
    .trim()
    .split("\n")
    .map((name) => join(folder, basename(name)));
}
