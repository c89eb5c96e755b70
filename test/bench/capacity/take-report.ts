import type { Report } from "../report/write-report.ts";
import type { ScenarioResult } from "../scenarios/all.ts";
import type { UnitCosts } from "./unit-costs.ts";

/** A table with the figures of a bench's report in place of those that it had. @throws Error when neither scenario is in it */
export function takeReport(costs: UnitCosts, report: Report): UnitCosts {
  const source = { measuredAt: report.startedAt, machine: report.machine };
  const capacity = report.results.find(isOf("CAPACITY"));
  const analytics = report.results.find(isOf("ANALYTICS"));
  if (!capacity && !analytics) throw new Error("The report has neither CAPACITY nor ANALYTICS.");
  const next = { ...costs };
  if (capacity) {
    const { scenario: _, phases: __, heldOut, ...figures } = capacity;
    next.capacity = { source, ...figures, heldOut: { source, ...heldOut } };
  }
  if (analytics) next.analytics = { source, bytesPerRow: analytics.bytesPerRow };
  return next;
}

function isOf<Name extends ScenarioResult["scenario"]>(name: Name) {
  return (result: ScenarioResult): result is Extract<ScenarioResult, { scenario: Name }> =>
    result.scenario === name;
}
