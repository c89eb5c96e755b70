import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { expect, test } from "vitest";
import { checkSnippets, findSnippets } from "./check-snippets.ts";

const page = (...blocks: [language: string, code: string][]) =>
  `# a\n\n${blocks.map(([language, code]) => `\`\`\`${language}\n${code}\n\`\`\`\n`).join("\nSo:\n\n")}`;
const ONE = 'import { one } from "@r/a";\nconsole.log(one + 1);';

test("the snippets of a page are those that import the package or a module of it", () => {
  const text = page(
    ["sh", "npm install @r/a"],
    ["ts", ONE],
    ["js", 'import { two } from "@r/a/two";'],
    ["ts", 'import { other } from "@r/ab";'],
  );
  expect(findSnippets(text, "@r/a")).toEqual([
    { line: 9, language: "ts", code: `${ONE}\n` },
    { line: 16, language: "js", code: 'import { two } from "@r/a/two";\n' },
  ]);
});

/** What is said of snippets of a package that exports the number `one`. */
async function problemsOf(readme: string, ofRepository = "# r\n"): Promise<readonly string[]> {
  await using dir = await createTempDir("snippets");
  const home = join(dir.path, "consumer/node_modules/@r/a");
  await mkdir(home, { recursive: true });
  const manifest = { name: "@r/a", type: "module", exports: { ".": { types: "./index.d.ts" } } };
  await writeFile(join(home, "package.json"), JSON.stringify(manifest));
  await writeFile(join(home, "index.d.ts"), "export declare const one: number;\n");
  await writeFile(join(home, "README.md"), readme);
  await writeFile(join(dir.path, "README.md"), ofRepository);
  await symlink(join(import.meta.dirname, "../../../node_modules"), join(dir.path, "node_modules"));
  const tsc = join(dir.path, "node_modules/@typescript/native/bin/tsc");
  return (await checkSnippets(join(dir.path, "consumer"), { root: dir.path, name: "@r/a", tsc })).problems;
}

test("snippets that fit the package are fine, in JavaScript too", async () => {
  expect(await problemsOf(page(["ts", ONE], ["js", `${ONE}\nexport const same = (two) => two;`]))).toEqual(
    [],
  );
});

test("a snippet that does not fit the package is found, with where it begins, in both pages", async () => {
  const wrong = 'import { two } from "@r/a";\nconsole.log(two);';
  const problems = await problemsOf(page(["ts", ONE], ["js", wrong]), page(["ts", wrong], ["tsx", wrong]));
  expect(problems).toEqual([
    "the repository's README.md:10 is tsx: only ts and js are checked",
    expect.stringMatching(/^snippets\/the-repository-s-README-md-3\.mts\(1,10\): error TS\d+: .*two/),
    expect.stringMatching(/^snippets\/README-md-10\.mjs\(1,10\): error TS\d+: .*two/),
  ]);
});
