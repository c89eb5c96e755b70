import { execFile } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { ensureKustomize } from "../../../scripts/programs/ensure-kustomize.ts";
import type { Resource } from "./resources.ts";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const FOLDER = join(ROOT, "infra/kubernetes");
/** Absolute. */
export const DATA_DIR = resolve(ROOT, process.env["REPRISE_DATA_DIR"] ?? ".reprise");

/** @param dir absolute */
export async function buildFolder(dir: string): Promise<Resource[]> {
  const [program, ...args] = await ensureKustomize(DATA_DIR);
  const { stdout } = await promisify(execFile)(program, [...args, dir]);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Resource);
}

/** The overlays, and `production` with every component. */
export const BUILDS = ["dev", "production", "all components"] as const;
export type BuildName = (typeof BUILDS)[number];

const FOLDERS: Readonly<Record<BuildName, string>> = {
  dev: join(FOLDER, "overlays/dev"),
  production: join(FOLDER, "overlays/production"),
  "all components": join(ROOT, "test/kubernetes/all-components"),
};

const built = new Map<BuildName, Promise<Resource[]>>();

/** What `kubectl apply -k` would send to the cluster. */
export function buildOverlay(name: BuildName): Promise<readonly Resource[]> {
  const build = built.get(name) ?? buildFolder(FOLDERS[name]);
  built.set(name, build);
  return build;
}
