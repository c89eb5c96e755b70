import type { Slo } from "./slo.ts";

const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

/**
 * How fast an error budget of 30 days is used up, as the SRE Workbook has it ("Alerting on SLOs", multiwindow, multi-burn-rate): the long
 * window says that it matters, the short one that it continues. The workbook's short window for the ticket is 6 h; with 2 h it ends sooner after its cause.
 */
export interface Burn {
  /** Times the rate that uses up exactly the budget. */
  readonly factor: number;
  readonly longS: number;
  readonly shortS: number;
  readonly severity: "page" | "ticket";
}

export const BURNS: readonly Burn[] = [
  { factor: 14.4, longS: HOUR_S, shortS: 5 * MINUTE_S, severity: "page" },
  { factor: 6, longS: 6 * HOUR_S, shortS: 30 * MINUTE_S, severity: "page" },
  { factor: 1, longS: 3 * DAY_S, shortS: 2 * HOUR_S, severity: "ticket" },
];

/** All windows of all burns, each once, shortest first. */
export const WINDOWS_S: readonly number[] = [
  ...new Set(BURNS.flatMap(({ longS, shortS }) => [longS, shortS])),
].toSorted((a, b) => a - b);

/**
 * The share of bad events at which a burn's alert fires.
 *
 * @throws Error when no share is that bad, so that the alert could never fire
 */
export function badShareOf({ name, target }: Pick<Slo, "name" | "target">, { factor }: Burn): number {
  const share = factor * (1 - target);
  if (share >= 1) throw new Error(`${name}: an alert at ${factor} times the budget of ${target} never fires`);
  return Number(share.toPrecision(6));
}
