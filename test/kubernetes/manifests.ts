import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";

export const ROOT = join(import.meta.dirname, "../..");

export interface Resource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: object;
}

/** The text of each YAML file of `infra/kubernetes`, by its path from the root. */
export const MANIFESTS: Readonly<Record<string, string>> = Object.fromEntries(
  globSync("infra/kubernetes/**/*.yml", { cwd: ROOT })
    .toSorted()
    .map((path) => [path, readFileSync(join(ROOT, path), "utf8")]),
);

/** The resources of a file: none in a kustomization or a patch. */
export function resourcesIn(text: string): Resource[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as Resource)
    .filter(({ apiVersion }) => apiVersion !== undefined && !apiVersion.startsWith("kustomize."));
}
