import { hash } from "node:crypto";
import { DASHBOARDS } from "../../../infra/observability/dashboards/dashboards.ts";

/** The file beside the pictures that says which dashboards they were drawn from. */
export const DRAWN_FROM = "drawn-from.json";

/** The SHA-256 of each dashboard as Grafana reads it, by its name. */
export function dashboardHashes(): Readonly<Record<string, string>> {
  const entries = Object.entries(DASHBOARDS);
  return Object.fromEntries(
    entries.map(([name, dashboard]) => [name, hash("sha256", JSON.stringify(dashboard))]),
  );
}
