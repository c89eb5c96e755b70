import { createHash } from "node:crypto";
import { existsSync, globSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, utimes } from "node:fs/promises";
import { SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/*
 * A test run starts some 500 services and commands. Node needs twice the CPU to load one from hundreds of source files, four times without a
 * compile cache, as from a bundle. All programs are bundled at once, in 2.5 s of CPU: they share most of their code.
 *
 * The folder of the bundles is named after the content of all sources, so a change of one leads to new bundles. It gets its name when it is complete.
 */

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
/** In node_modules, where bundles find DuckDB, a binary that is not bundled. */
const BUNDLES = join(ROOT, "node_modules/.cache/test-programs");
const PROGRAMS = ["services/*/src/main.ts", "services/*/src/cli/main.ts", "infra/{nats,redis}/main.ts"];
/** Starts scripts that are beside its source. */
const NOT_BUNDLED = ["services/standalone/**"];
/** Programs import nothing of ours from elsewhere. */
const SOURCE_FOLDERS = ["infra", "packages", "services"];
const SOURCE_FILE = /(?<!\.test)\.(?:[cm]?[jt]s|json)$/;

/** A process that has begun to bundle may have been killed. */
const WAIT_MS = 30_000;
const KEPT_UNUSED_MS = 24 * 3_600_000;

let bundles: Promise<string> | undefined;
/**
 * Resolves with the module that runs a program of this repository. Bundles all programs if their sources have changed.
 * @param path the program's source: `services/audit-log/src/cli/main.ts`
 */
export async function bundleProgram(path: string): Promise<string> {
  bundles ??= findBundles();
  return join(await bundles, path.replace(/\.ts$/, ".mjs"));
}

const BUNDLED_POSITION = /(file:\/\/\S+\/test-programs\/\S+\.mjs):(\d+):(\d+)/g;

/** Replaces positions in bundles by those in sources. `--enable-source-maps` would, too, but costs each start of a service 0.2 s of CPU. */
export function toSourcePositions(text: string): string {
  return text.replaceAll(BUNDLED_POSITION, (position, url: string, line: string, column: string) => {
    const map = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")) as SourceMapPayload;
    const origin = new SourceMap(map).findOrigin(Number(line), Number(column));
    if (!("fileName" in origin)) return position;
    return `${new URL(origin.fileName, url).href}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

async function findBundles(): Promise<string> {
  for (;;) {
    const dir = join(BUNDLES, hashSources());
    if (!existsSync(dir)) await bundleOnce(dir);
    if (!existsSync(dir)) continue; // A source has changed meanwhile.
    await utimes(dir, new Date(), new Date());
    return dir;
  }
}

function hashSources(): string {
  const files = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter(({ name }) => SOURCE_FILE.test(name))
      .map(({ parentPath, name }) => join(parentPath, name)),
  );
  const hash = createHash("sha256");
  for (const file of [join(ROOT, "package-lock.json"), ...files.toSorted()])
    hash.update(`${file}\n`).update(readFileSync(file));
  return hash.digest("hex").slice(0, 16);
}

/** Lets one process bundle. Others that start at the same time wait for it. */
async function bundleOnce(dir: string): Promise<void> {
  const lock = `${dir}.lock`;
  await mkdir(BUNDLES, { recursive: true });
  const isFirst = (await mkdir(lock).catch((error: unknown) => error)) === undefined;
  const end = Date.now() + WAIT_MS;
  while (!isFirst && existsSync(lock) && Date.now() < end) await pause(20);
  try {
    if (!existsSync(dir)) await bundle(dir);
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

/** Bundles like infra/containers/bundle-image.ts, with source maps. */
async function bundle(dir: string): Promise<void> {
  removeUnused();
  const draft = await mkdtemp(`${dir}.draft-`);
  const programs = globSync(PROGRAMS, { cwd: ROOT, exclude: NOT_BUNDLED });
  const { build } = await import("rolldown");
  await build({
    cwd: ROOT,
    input: Object.fromEntries(programs.map((path) => [path.replace(/\.ts$/, ""), join(ROOT, path)])),
    platform: "node",
    external: ["@duckdb/node-api"],
    resolve: { conditionNames: ["source", "node"] },
    output: {
      dir: draft,
      sourcemap: true,
      sourcemapExcludeSources: true,
      entryFileNames: "[name].mjs",
      chunkFileNames: "chunks/[name]-[hash].mjs",
    },
    logLevel: "warn",
  });
  if (join(BUNDLES, hashSources()) === dir && !existsSync(dir)) await rename(draft, dir);
  else await rm(draft, { recursive: true });
}

function removeUnused(): void {
  for (const name of readdirSync(BUNDLES)) {
    const path = join(BUNDLES, name);
    const usedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (usedMs < Date.now() - KEPT_UNUSED_MS) rmSync(path, { recursive: true, force: true });
  }
}
