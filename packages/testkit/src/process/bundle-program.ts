import { createHash } from "node:crypto";
import { existsSync, globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, utimes } from "node:fs/promises";
import { findSourceMap, SourceMap, type SourceMapPayload } from "node:module";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/*
 * Node loads a service from hundreds of source files in 0.6 to 1.3 s of CPU, and from one bundle in half of that. Tests start services
 * some 500 times. All programs are bundled together, in 2.5 s: they share most of their code.
 *
 * A bundle's folder is named after the content of all sources, so a changed source leads to another bundle. It gets its name once it is complete.
 */

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
/** Below node_modules: DuckDB, a binary, stays a package, which bundles find there. */
const BUNDLES = join(ROOT, "node_modules/.cache/test-programs");
const PROGRAMS = ["services/*/src/main.ts", "services/*/src/cli/main.ts", "infra/{nats,redis}/main.ts"];
/** It starts programs that lie beside its source. */
const NOT_BUNDLED = ["services/standalone/**"];
/** Holds every file of ours that programs import. */
const SOURCE_FOLDERS = ["infra", "packages", "services"];
const SOURCE_FILE = /(?<!\.test)\.ts$|\bpackage\.json$/;

/** Others wait while one process bundles, but not for one that was killed. */
const WAIT_MS = 60_000;
const LOOK_AGAIN_MS = 20;
const KEPT_UNUSED_MS = 24 * 3_600_000;

let bundles: Promise<string> | undefined;

/**
 * Resolves with a module to run in place of a program of this repository. The first call after a source has changed bundles all of them.
 * @param path the program's source, from the root of the repository: `services/audit-log/src/cli/main.ts`
 */
export async function bundleProgram(path: string): Promise<string> {
  bundles ??= findBundles();
  return join(await bundles, path.replace(/\.ts$/, ".mjs"));
}

const BUNDLED_POSITION = /(file:\/\/\S+\/test-programs\/\S+\.mjs):(\d+):(\d+)/g;

/** Replaces positions in bundles by those in their sources. Node could, too, but it reads the maps at each start: 0.2 s of CPU. */
export function toSourcePositions(text: string): string {
  return text.replaceAll(BUNDLED_POSITION, (position, url: string, line: string, column: string) => {
    const map = JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, "utf8")) as SourceMapPayload;
    const origin = new SourceMap(map).findOrigin(Number(line), Number(column));
    if (!("fileName" in origin)) return position;
    return `${new URL(origin.fileName, url).href}:${origin.lineNumber}:${origin.columnNumber}`;
  });
}

async function findBundles(): Promise<string> {
  await mkdir(BUNDLES, { recursive: true });
  for (;;) {
    const dir = join(BUNDLES, hashSources());
    if (!existsSync(dir)) await bundleOnce(dir);
    // Not if a source has changed while it was bundled.
    if (!existsSync(dir)) continue;
    await utimes(dir, new Date(), new Date());
    return dir;
  }
}

function hashSources(): string {
  const files = SOURCE_FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const hash = createHash("sha256");
  for (const file of ["package-lock.json", ...files.filter((name) => SOURCE_FILE.test(name)).toSorted()])
    hash.update(`${file}\n`).update(readFileSync(join(ROOT, file)));
  return hash.digest("hex").slice(0, 16);
}

/** Processes that find the bundle missing at the same time leave it to one of them. */
async function bundleOnce(dir: string): Promise<void> {
  const lock = `${dir}.lock`;
  const isFirst = await mkdir(lock).then(
    () => true,
    () => false,
  );
  for (const end = Date.now() + WAIT_MS; !isFirst && existsSync(lock) && Date.now() < end; )
    await pause(LOOK_AGAIN_MS);
  try {
    if (!existsSync(dir)) await bundle(dir);
  } finally {
    await rm(lock, { recursive: true, force: true });
  }
}

/** With the settings of the images: see infra/containers/bundle-image.ts. */
async function bundle(dir: string): Promise<void> {
  await removeUnused();
  const draft = await mkdtemp(`${dir}.draft-`);
  const programs = globSync(PROGRAMS, { cwd: ROOT, exclude: NOT_BUNDLED });
  const { build } = await import("rolldown");
  await build({
    cwd: ROOT,
    input: Object.fromEntries(programs.map((path) => [path.replace(/\.ts$/, ""), join(ROOT, path)])),
    platform: "node",
    external: ["@duckdb/node-api", "pg-native"],
    resolve: { conditionNames: ["source", "node"] },
    output: {
      dir: draft,
      format: "esm",
      sourcemap: true,
      sourcemapExcludeSources: true,
      entryFileNames: "[name].mjs",
      chunkFileNames: "chunks/[name]-[hash].mjs",
    },
    logLevel: "warn",
  });
  if (join(BUNDLES, hashSources()) === dir) await rename(draft, dir);
  else await rm(draft, { recursive: true });
}

async function removeUnused(): Promise<void> {
  for (const name of await readdir(BUNDLES)) {
    const { mtimeMs = Number.POSITIVE_INFINITY } = statSync(join(BUNDLES, name), { throwIfNoEntry: false }) ?? {};
    if (mtimeMs < Date.now() - KEPT_UNUSED_MS) await rm(join(BUNDLES, name), { recursive: true, force: true });
  }
}
