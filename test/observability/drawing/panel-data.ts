import type { DrawnSpan } from "./spans.ts";

export interface Series {
  readonly name: string;
  /** Milliseconds since 1970, and a finite value. */
  readonly points: readonly (readonly [atMs: number, value: number])[];
}

export type Cell = string | number | null;

/** What a panel's queries have found. */
export type PanelData =
  | { readonly kind: "series"; readonly series: readonly Series[] }
  | { readonly kind: "values"; readonly values: readonly { readonly name: string; readonly value: Cell }[] }
  | {
      readonly kind: "table";
      readonly columns: readonly string[];
      readonly rows: readonly (readonly Cell[])[];
    }
  | { readonly kind: "spans"; readonly spans: readonly DrawnSpan[] }
  | { readonly kind: "text"; readonly markdown: string };

export function hasData(data: PanelData): boolean {
  switch (data.kind) {
    case "series":
      return data.series.some(({ points }) => points.length > 0);
    case "values":
      return data.values.some(({ value }) => value !== null);
    case "table":
      return data.rows.length > 0;
    case "spans":
      return data.spans.length > 0;
    case "text":
      return data.markdown !== "";
  }
}
