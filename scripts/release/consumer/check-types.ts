import type { Outcome } from "../step.ts";
import { compile } from "./compile.ts";

export interface Compiler {
  readonly name: string;
  /** The path of its `tsc`. */
  readonly tsc: string;
  /** Further arguments, as the package's README asks for them. */
  readonly args?: readonly string[];
}

export const STRICT = ["--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom"];

/** How a project can find modules, if it is to find packages by their `exports`. */
const RESOLUTIONS = [
  ["--module", "nodenext"],
  ["--module", "esnext", "--moduleResolution", "bundler"],
];

/** Checks the types that a consumer sees, by each compiler and way to find modules. */
export async function checkTypes(folder: string, compilers: readonly Compiler[]): Promise<Outcome> {
  const problems: string[] = [];
  for (const { name, tsc, args = [] } of compilers)
    for (const resolution of RESOLUTIONS) {
      const found = await compile(folder, tsc, [...STRICT, ...resolution, ...args, "types.mts"]);
      problems.push(...found.map((problem) => `${name}: ${problem}`));
    }
  return { problems, report: compilers.map(({ name, args = [] }) => [name, ...args].join(" ")) };
}
