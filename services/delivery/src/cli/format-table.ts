/** Rows of cells in columns: the first at the left, the others at the right, as numbers are. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)));
  const lines = rows.map((row) =>
    widths
      .map((width, i) => (i === 0 ? (row[i] ?? "").padEnd(width) : (row[i] ?? "").padStart(width)))
      .join("  ")
      .trimEnd(),
  );
  return lines.join("\n");
}
