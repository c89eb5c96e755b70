import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const glossary = read("docs/glossary.md");
const rows = glossary
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| word |"))
  .map((line) => line.split(" | "));

/** The names in the last column of a row. */
const namesIn = (row: readonly string[]) => [...row.at(-1)!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

/** This folder's own files count for nothing: they would hold the name that a test plants. */
function findUnknownNames(names: readonly string[]): string[] {
  const sources = globSync("{packages,services,test}/**/*.ts", {
    cwd: ROOT,
    exclude: (path) => path.includes("node_modules") || path.includes("test/house"),
  });
  const words = new Set(sources.flatMap((path) => read(path).match(/[\w.]+/g) ?? []));
  const parts = new Set([...words].flatMap((word) => word.split(".")));
  return names.filter((name) => !words.has(name) && !parts.has(name));
}

test("each word of the glossary has one line", () => {
  const defined = rows.map(([first]) => first!.replace("| ", ""));
  expect(defined.filter((word, i) => defined.indexOf(word) !== i)).toEqual([]);
  expect(rows.filter((row) => row.length !== 3)).toEqual([]);
});

test("the glossary names nothing that the code does not have", () => {
  const planted = "noSuchName";
  expect(findUnknownNames([...rows.flatMap(namesIn), planted])).toEqual([planted]);
});
