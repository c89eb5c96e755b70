import type { ApiTarget } from "../../../infra/observability/dashboards/panels.ts";
import type { RangeOfTime } from "./ask-prometheus.ts";
import type { Cell, Series } from "./panel-data.ts";

export interface ApiQuery extends RangeOfTime {
  /** Of delivery. */
  readonly url: string;
  readonly key: string;
  /** Values of the dashboard's variables. */
  readonly variables: Readonly<Record<string, string>>;
}

type Row = Readonly<Record<string, unknown>>;

export interface ApiRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
}

/** The rows that a panel's call is answered with. @throws Error with the answer where that is none of success */
export async function askApi(target: ApiTarget, query: ApiQuery): Promise<ApiRows> {
  const response = await fetch(query.url + withVariables(target.url, query), {
    headers: { authorization: `Bearer ${query.key}` },
  });
  if (!response.ok) throw new Error(`${target.url}: ${response.status} ${await response.text()}`);
  const found = at(await response.json(), target.root_selector);
  const rows = (Array.isArray(found) ? found : []) as readonly Row[];
  return {
    columns: target.columns.map(({ text }) => text),
    rows: rows.map((row) => target.columns.map(({ selector }) => toCell(at(row, selector)))),
  };
}

/** Of rows whose first column is the time. */
export function toSeries({ columns, rows }: ApiRows): Series[] {
  const [, ...names] = columns;
  return names
    .map((name, index) => ({
      name,
      points: rows.flatMap((row) => {
        const value = row[index + 1];
        return typeof value === "number" ? [[Date.parse(String(row[0])), value] as const] : [];
      }),
    }))
    .filter(({ points }) => points.length > 0);
}

function withVariables(path: string, { fromMs, toMs, variables }: ApiQuery): string {
  const values: Record<string, string> = {
    "__from:date:iso": new Date(fromMs).toISOString(),
    "__to:date:iso": new Date(toMs).toISOString(),
    ...variables,
  };
  return path.replaceAll(/\$\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
}

/** A path such as `data[0].points`, of the part of JSONata that dashboards use. */
function at(value: unknown, path: string): unknown {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== "");
  return steps.reduce<unknown>((found, step) => (found as Row | null | undefined)?.[step], value);
}

function toCell(value: unknown): Cell {
  return typeof value === "string" || typeof value === "number" ? value : null;
}
