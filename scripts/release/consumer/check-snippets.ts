import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Outcome } from "../step.ts";
import { STRICT } from "./check-types.ts";
import { compile } from "./compile.ts";

/** What snippets take from elsewhere. */
const PRELUDE = `declare const process: {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: { write(text: string): void };
};
declare module "expo/fetch" {
  export const fetch: typeof globalThis.fetch;
}
`;

/** Packages of others that snippets are for, which the package does not bring: they are those that the repository tests with. */
const OTHERS = ["@tanstack/ai"];

export interface Snippet {
  /** Where it begins. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
}

export interface SnippetsOptions {
  /** The repository. */
  readonly root: string;
  /** The package. */
  readonly name: string;
  /** The path of a compiler. */
  readonly tsc: string;
}

/** Type-checks what the package's README, and the repository's, show of it, against the package as it is installed in a project. */
export async function checkSnippets(folder: string, { root, name, tsc }: SnippetsOptions): Promise<Outcome> {
  const pages = [
    { title: "README.md", path: join(folder, "node_modules", name, "README.md") },
    { title: "the repository's README.md", path: join(root, "README.md") },
  ];
  const home = join(folder, "snippets");
  await mkdir(home);
  for (const other of OTHERS) {
    const link = join(home, "node_modules", other);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(root, "node_modules", other), link);
  }
  await writeFile(join(home, "prelude.d.ts"), PRELUDE);
  const problems: string[] = [];
  const files: Record<"mts" | "mjs", string[]> = { mts: [], mjs: [] };
  for (const { title, path } of pages)
    for (const { line, language, code } of findSnippets(await readFile(path, "utf8"), name)) {
      const extension = ({ ts: "mts", js: "mjs" } as const)[language];
      if (extension === undefined) {
        problems.push(`${title}:${line} is ${language}: only ts and js are checked`);
        continue;
      }
      const file = `${title.replaceAll(/\W+/g, "-")}-${line}.${extension}`;
      await writeFile(join(home, file), code);
      files[extension].push(`snippets/${file}`);
    }
  // The package's own declarations are checked apart.
  const args = [...STRICT, "--skipLibCheck", "--module", "nodenext", "snippets/prelude.d.ts"];
  // JavaScript has no place for the types of parameters.
  const ofJs = ["--allowJs", "--checkJs", "--noImplicitAny", "false", "--strictFunctionTypes", "false"];
  if (files.mts.length > 0) problems.push(...(await compile(folder, tsc, [...args, ...files.mts])));
  if (files.mjs.length > 0) problems.push(...(await compile(folder, tsc, [...args, ...ofJs, ...files.mjs])));
  if (files.mts.length === 0) problems.push(`${name} has no snippet in TypeScript`);
  return { problems, report: [`${files.mts.length} in TypeScript, ${files.mjs.length} in JavaScript`] };
}

/** The code of a page that imports a package, or a module of it. */
export function findSnippets(markdown: string, name: string): Snippet[] {
  return [...markdown.matchAll(/^```(?<language>\w+)\n(?<code>.*?)^```$/gms)]
    .map(({ groups, index }) => ({
      line: markdown.slice(0, index).split("\n").length,
      language: groups!["language"]!,
      code: groups!["code"]!,
    }))
    .filter(({ code }) => [`"${name}"`, `"${name}/`].some((module) => code.includes(`from ${module}`)));
}
