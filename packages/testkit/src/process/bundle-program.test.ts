import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { bundleProgram, toSourcePositions } from "./bundle-program.ts";

const SOURCE = "services/witness/src/main.ts";

test("positions in a bundle become those of its source", async () => {
  const bundle = await bundleProgram(SOURCE);
  const lines = (await readFile(bundle, "utf8")).split("\n");
  const source = (await readFile(new URL(`../../../../${SOURCE}`, import.meta.url), "utf8")).split("\n");
  const CODE = "startWitnessServer({";
  const at = (all: readonly string[]) => {
    const line = all.findIndex((text) => text.includes(CODE));
    return `${line + 1}:${all[line]!.indexOf(CODE) + 1}`;
  };
  const url = new URL(`../../../../${SOURCE}`, import.meta.url).href;
  expect(toSourcePositions(`    at main (${pathToFileURL(bundle).href}:${at(lines)})`)).toBe(
    `    at main (${url}:${at(source)})`,
  );
});

test("text without positions in bundles stays as it is", () => {
  const text = "Error: no\n    at main (file:///a/main.mjs:1:1)\n";
  expect(toSourcePositions(text)).toBe(text);
});
