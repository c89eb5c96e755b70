import { readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../../../infra/observability/dashboards");

/** The part of Grafana's model of a dashboard that tests read. */
export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly id: number;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly overrides: readonly { readonly matcher: { readonly options: string } }[];
  };
}

interface Target {
  readonly refId: string;
  /** PromQL, of a query of Prometheus. */
  readonly expr?: string;
  /** The columns of an answer, of a call of the API. */
  readonly columns?: readonly { readonly text: string }[];
}

/** All dashboards, by the name of their file. */
export const DASHBOARDS: Readonly<Record<string, Dashboard>> = Object.fromEntries(
  ["platform", "tenant", "generation"].map((name) => [
    name,
    JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8")) as Dashboard,
  ]),
);

/** The PromQL of all panels. */
export const DASHBOARD_EXPRESSIONS: readonly string[] = Object.values(DASHBOARDS)
  .flatMap(({ panels }) => panels)
  .flatMap(({ targets = [] }) => targets)
  .flatMap(({ expr }) => expr ?? []);
