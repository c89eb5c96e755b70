// Fails on an import that the rules of .dependency-cruiser.cjs forbid, and on folders of a `src` that import each other in a circle.
import { fileURLToPath } from "node:url";
import { cruiseBoundaries } from "./cruise.ts";

/** Without a TypeScript that it can use, dependency-cruiser reads nothing and finds nothing wrong. */
const FEWEST_MODULES = 50;

const root = fileURLToPath(new URL("../..", import.meta.url));
const { modules, violations, circles } = await cruiseBoundaries(root, ["packages", "services"]);

for (const { rule, from, to } of violations) console.error(`${rule}: ${from} → ${to}`);
for (const { entries, imports } of circles) {
  console.error(`folder-circle: ${[...entries, entries[0]].join(" → ")}`);
  for (const { from, to } of imports) console.error(`  ${from} → ${to}`);
}
if (modules < FEWEST_MODULES)
  console.error(`Only ${modules} modules were read; at least ${FEWEST_MODULES} are there.`);
if (violations.length > 0 || circles.length > 0 || modules < FEWEST_MODULES) process.exitCode = 1;
