import { writeFile } from "node:fs/promises";
import { compareFleets } from "./scaling/compare-fleets.ts";
import { formatScalingPlot } from "./scaling/format-scaling-plot.ts";
import { formatScalingTables } from "./scaling/format-scaling-table.ts";

const SEED = 1;

const [plotPath] = process.argv.slice(2);
const comparisons = await compareFleets(SEED);
console.log(formatScalingTables(comparisons));
if (plotPath !== undefined) await writeFile(plotPath, formatScalingPlot(comparisons));
