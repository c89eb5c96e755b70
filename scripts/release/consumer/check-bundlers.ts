import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../../pack/run.ts";
import type { Outcome } from "../step.ts";
import type { Tools } from "../install-tools.ts";
import { checkRuntimes, type Platform } from "./check-runtimes.ts";

const VITE_CONFIG = `export default {
  logLevel: "warn",
  build: { outDir: "vite-bundle", lib: { entry: "main.mjs", formats: ["es"], fileName: () => "main.mjs" } },
};
`;

interface Bundler {
  readonly name: string;
  readonly args: readonly string[];
  /** What it writes. */
  readonly output: string;
}

const BUNDLERS: readonly Bundler[] = [
  {
    name: "esbuild",
    args: [
      "main.mjs",
      "--bundle",
      "--format=esm",
      "--platform=browser",
      "--minify",
      "--outfile=esbuild-bundle.mjs",
    ],
    output: "esbuild-bundle.mjs",
  },
  {
    name: "rolldown",
    args: [
      "main.mjs",
      "--format",
      "esm",
      "--platform",
      "browser",
      "--minify",
      "--file",
      "rolldown-bundle.mjs",
    ],
    output: "rolldown-bundle.mjs",
  },
  { name: "vite", args: ["build", "--config", "vite.config.mjs"], output: "vite-bundle/main.mjs" },
];

/** Bundles the program for a browser with each bundler, and runs what comes of it. */
export async function checkBundlers(
  folder: string,
  { platform, tools, node }: { platform: Platform; tools: Tools; node: string },
): Promise<Outcome> {
  await writeFile(join(folder, "vite.config.mjs"), VITE_CONFIG);
  const problems: string[] = [];
  const sizes: string[] = [];
  for (const { name, args, output } of BUNDLERS) {
    await run(tools.bin(name), args, { cwd: folder });
    const code = await readFile(join(folder, output), "utf8");
    sizes.push(`${name}: ${Buffer.byteLength(code)} bytes with the program`);
    if (/\bfrom\s*"|\bimport\s*["(]/.test(code)) problems.push(`${name}: the bundle imports something`);
  }
  const runtimes = BUNDLERS.map(({ name, output }) => ({ name, command: [node, output] as const }));
  const ran = await checkRuntimes(folder, platform, runtimes);
  return { problems: [...problems, ...ran.problems], report: [...sizes, ...(ran.report ?? [])] };
}
