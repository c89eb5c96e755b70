import { formatTable } from "./table.ts";
import type { Verdict } from "./claim.ts";

/** What was aimed at, and what came of it. */
export function formatVerdicts(verdicts: readonly Verdict[]): string {
  const figure = (value: number, unit: string) =>
    `${Number(value.toPrecision(3)).toLocaleString("en")} ${unit}`.trim();
  const rows = verdicts.map(({ scenario, claim, measured, limit, unit, met }) => [
    `${scenario} ${claim}`,
    figure(measured, unit),
    figure(limit, unit),
    met ? "yes" : "NO",
  ]);
  return `Targets\n${formatTable(["", "measured", "target", "met"], rows)}`;
}
