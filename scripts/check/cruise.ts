import { createRequire } from "node:module";
import { type ICruiseResult, type IConfiguration, cruise } from "dependency-cruiser";
import { findFolderCircles, type FolderCircle } from "./folder-circles.ts";

const configuration = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as Required<
  Pick<IConfiguration, "forbidden" | "options">
>;

/** The names of all import rules. */
export const BOUNDARY_RULES: readonly string[] = configuration.forbidden.map(({ name }) => String(name));

export interface Boundaries {
  /** Number of files that were read. */
  readonly modules: number;
  readonly violations: readonly { rule: string; from: string; to: string }[];
  readonly circles: readonly FolderCircle[];
}

/** Follows the imports of a tree laid out like this repository, and reports those that the rules forbid and the circles of folders. */
export async function cruiseBoundaries(root: string, folders: readonly string[]): Promise<Boundaries> {
  const { options, forbidden } = configuration;
  const { enhancedResolveOptions, ...cruiseOptions } = options;
  const settings = { ...cruiseOptions, baseDir: root, validate: true, ruleSet: { forbidden } };
  const { output } = await cruise([...folders], settings, enhancedResolveOptions);
  const { modules, summary } = output as ICruiseResult;
  const imports = modules.flatMap(({ source, dependencies }) =>
    dependencies.map(({ resolved }) => ({ from: source, to: resolved })),
  );
  return {
    modules: modules.filter(({ source }) => /^(packages|services)\/.*\.ts$/.test(source)).length,
    violations: summary.violations.map(({ rule, from, to }) => ({ rule: rule.name, from, to })),
    circles: findFolderCircles(imports),
  };
}
