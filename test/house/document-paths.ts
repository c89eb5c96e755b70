import { existsSync } from "node:fs";
import { join } from "node:path";

/** A path from the root of the repository, in backticks, as documents name files and folders. */
const NAMED = /`((?:\.ci|docs|packages|scripts|services|test)\/[\w./-]*)`/g;

/** The paths that a document names and that do not exist, each once. */
export function findMissingPaths(markdown: string, root: string): string[] {
  const named = new Set([...markdown.matchAll(NAMED)].map(([, path]) => path!));
  return [...named].filter((path) => !existsSync(join(root, path)));
}

/** A numbered list under a heading of the second level. */
export interface Way {
  readonly heading: string;
  /** The paths that each step names. */
  readonly steps: readonly (readonly string[])[];
}

/** The ways that ARCHITECTURE.md describes: the sections whose heading begins with "The way of". */
export function readWays(markdown: string): Way[] {
  return markdown
    .split(/^## /m)
    .filter((section) => section.startsWith("The way of"))
    .map((section) => {
      const [heading = ""] = section.split("\n", 1);
      const steps = [...section.matchAll(/^\d+\. .*(?:\n {3}.*)*/gm)];
      return { heading, steps: steps.map(([text]) => [...text.matchAll(NAMED)].map(([, path]) => path!)) };
    });
}

/** The names in the first column of the tables that a README begins with `| folder |`. */
export function readFolderTable(markdown: string): string[] {
  const tables = markdown.match(/^\| folder \|.*\n(?:\|.*\n?)*/gm) ?? [];
  const rows = tables.flatMap((table) => table.trimEnd().split("\n").slice(2));
  return rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!));
}

/** The names among these that are neither in the folder nor in its `src`; one that ends with `/` must be a folder. */
export function findMissingNames(names: readonly string[], folder: string): string[] {
  return names.filter((name) => !existsSync(join(folder, "src", name)) && !existsSync(join(folder, name)));
}
