/** Grafana's shortest range that holds enough scrapes for a rate. */
export const RATE_INTERVAL = "$__rate_interval";

/** @param by a label, or several with commas between them */
export function rate(metric: string, by?: string): string {
  return sum(`rate(${metric}[${RATE_INTERVAL}])`, by);
}

/** How much a counter has grown, of what happens seldom. */
export function growth(metric: string, by?: string): string {
  return sum(`increase(${metric}[${RATE_INTERVAL}])`, by);
}

/** @param selector of labels, in braces, or nothing */
export function quantile(share: number, histogram: string, selector = "", by?: string): string {
  const buckets = `rate(${histogram}_bucket${selector}[${RATE_INTERVAL}])`;
  return `histogram_quantile(${share}, ${sum(buckets, by === undefined ? "le" : `le, ${by}`)})`;
}

function sum(expr: string, by: string | undefined): string {
  return by === undefined ? `sum(${expr})` : `sum by (${by}) (${expr})`;
}
