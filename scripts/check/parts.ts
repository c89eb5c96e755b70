import type { Part } from "./part.ts";

const LINT = ["--type-aware", "--deny-warnings"];

/** The longest first: they start together, and two cores are enough then. */
export const PARTS: readonly Part[] = [
  { name: "types", script: "node_modules/@typescript/native/bin/tsc", args: [] },
  { name: "lint", script: "node_modules/oxlint/bin/oxlint", args: LINT },
  { name: "unused", script: "node_modules/knip/bin/knip.js", args: ["--no-progress"] },
  { name: "boundaries", script: "scripts/check/boundaries.ts", args: [] },
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", args: ["--check"] },
  { name: "repository", script: "scripts/check/repository.ts", args: [] },
];

/** Problems that a machine can mend. The formatter goes last: it has to see what the linter wrote. */
export const FIXES: readonly Part[] = [
  { name: "lint", script: "node_modules/oxlint/bin/oxlint", args: [...LINT, "--fix"] },
  { name: "format", script: "node_modules/oxfmt/bin/oxfmt", args: [] },
];
