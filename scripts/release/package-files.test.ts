import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { findPackageProblems } from "./package-files.ts";

const SOURCE = "export const one = 1;\n";
const manifest = (fields: object = {}) =>
  JSON.stringify({
    name: "@r/a",
    version: "1.0.0",
    license: "MIT",
    dependencies: { zod: "4.0.0" },
    ...fields,
  });
const sourceMap = (content = SOURCE) =>
  JSON.stringify({ sources: ["../packages/a/src/index.ts"], sourcesContent: [content] });

/** What is wrong with a package that is fine but for these files. */
async function problemsWith(changed: Readonly<Record<string, string>>): Promise<string[]> {
  await using root = await createTempDir("package-files");
  const files: Record<string, string> = {
    "packages/a/src/index.ts": SOURCE,
    "unpacked/package.json": manifest(),
    "unpacked/README.md": "# a\n",
    "unpacked/LICENSE": "MIT\n",
    "unpacked/dist/index.js": SOURCE,
    "unpacked/dist/index.js.map": sourceMap(),
    "unpacked/types/a/src/index.d.ts": "export declare const one = 1;\n",
  };
  for (const [path, text] of Object.entries(changed)) files[`unpacked/${path}`] = text;
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root.path, path)), { recursive: true });
    await writeFile(join(root.path, path), text);
  }
  return findPackageProblems({ root: root.path, folder: join(root.path, "unpacked"), version: "1.0.0" });
}

test("a package of one module, its source map and its types is fine", async () => {
  expect(await problemsWith({})).toEqual([]);
});

test.each([
  ["a source file", { "src/index.ts": SOURCE }, "holds src/index.ts"],
  ["a private manifest", { "package.json": manifest({ private: true }) }, "is private"],
  ["another version", { "package.json": manifest({ version: "1.0.1" }) }, "has version 1.0.1, not 1.0.0"],
  ["no licence", { "package.json": manifest({ license: undefined }) }, "names no licence"],
  [
    "a dependency on a workspace",
    { "package.json": manifest({ dependencies: { "@r/log": "*" } }) },
    "depends on @r/log@*, which is no version of a registry",
  ],
  [
    "a module of Node",
    { "dist/index.js": 'import "node:fs";\n' },
    "dist/index.js has node:, which Node alone has",
  ],
  [
    "a source map of other sources",
    { "dist/index.js.map": sourceMap("other") },
    "dist/index.js.map has another ../packages/a/src/index.ts than the repository",
  ],
  [
    "an empty source map",
    { "dist/index.js.map": JSON.stringify({ sources: [], sourcesContent: [] }) },
    "dist/index.js.map has no sources",
  ],
  ["a module without a source map", { "dist/more.js": SOURCE }, "dist/more.js has no source map"],
])("%s is found", async (_, changed, problem) => {
  expect(await problemsWith(changed)).toEqual([problem]);
});
