import { readFile, writeFile } from "node:fs/promises";
import { formatFairPlot } from "./report/tenants/format-fair-plot.ts";
import type { Report } from "./report/write-report.ts";

const [reportPath, plotPath] = process.argv.slice(2);
if (reportPath === undefined || plotPath === undefined)
  throw new Error("Usage: node test/bench/plot-fair.ts <report.json> <plot.svg>");
const { results } = JSON.parse(await readFile(reportPath, "utf8")) as Report;
const fair = results.find((result) => result.scenario === "FAIR");
if (!fair) throw new Error(`${reportPath} has no results of FAIR.`);
await writeFile(plotPath, formatFairPlot(fair));
