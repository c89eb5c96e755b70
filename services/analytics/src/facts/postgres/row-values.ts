import { toStorableText } from "@reprise/metering";
import type { FactTable } from "../tables/fact-table.ts";

const SQL_TYPES = { text: "text", integer: "bigint", boolean: "boolean", json: "text" } as const;

/** A table of rows made of arrays, one for each column: `$<first>`, and so on, with each row's place in `i`. */
export function unnestRows<Row>(
  { fields }: FactTable<Row>,
  first: number,
): { readonly values: string; readonly from: string } {
  const arrays = fields.map(({ kind }, i) => `$${first + i}::${SQL_TYPES[kind]}[]`);
  const names = fields.map(({ name }) => `"${name}"`);
  return {
    values: fields.map(({ name, kind }) => `r."${name}"${kind === "json" ? "::jsonb" : ""}`).join(", "),
    from: `unnest(${arrays.join(", ")}) with ordinality as r(${names.join(", ")}, i)`,
  };
}

/** Those arrays. */
export function toArrays<Row>({ fields }: FactTable<Row>, rows: readonly Row[]): readonly unknown[][] {
  return fields.map(({ name, kind }) =>
    rows.map((row) => {
      const value = toStorable(row[name]);
      return kind === "json" ? JSON.stringify(value) : value;
    }),
  );
}

/** `toStorableText` in all texts of a value, so that no client's can keep a row out. */
export function toStorable(value: unknown): unknown {
  if (typeof value === "string") return toStorableText(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toStorable(key), toStorable(inner)]),
  );
}
