import { readFile, writeFile } from "node:fs/promises";
import { studyPath } from "./capacity/compare-paths.ts";
import { fillPage, formatPage } from "./capacity/format-page.ts";
import { formatPathPlot } from "./capacity/format-path-plot.ts";
import { formatPlan } from "./capacity/format-plan.ts";
import { type CapacityOptions, parseCapacityOptions, USAGE } from "./capacity/options.ts";
import { planCapacity } from "./capacity/plan-capacity.ts";
import { takeReport } from "./capacity/take-report.ts";
import { readUnitCosts, UNIT_COSTS_FILE } from "./capacity/unit-costs.ts";
import type { Report } from "./report/write-report.ts";

const PAGE = new URL("../../docs/operations/capacity.md", import.meta.url);
const PLOT = new URL("../../docs/operations/capacity.svg", import.meta.url);

let options: CapacityOptions | undefined;
try {
  options = parseCapacityOptions(process.argv.slice(2));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`);
  process.exitCode = 2;
}
if (options?.help) console.log(USAGE);
else if (options) await run(options);

async function run({ demand, deployment, take, docs }: CapacityOptions): Promise<void> {
  if (take !== undefined) {
    const report = JSON.parse(await readFile(take, "utf8")) as Report;
    await writeFile(UNIT_COSTS_FILE, `${JSON.stringify(takeReport(readUnitCosts(), report), null, 2)}\n`);
  }
  const costs = readUnitCosts();
  if (docs) {
    const study = studyPath(costs);
    await writeFile(PAGE, fillPage(await readFile(PAGE, "utf8"), formatPage(costs, study)));
    await writeFile(PLOT, formatPathPlot(study));
  }
  console.log(formatPlan(planCapacity(costs, demand, deployment)));
}
