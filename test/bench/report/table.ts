/** Rows of text in columns, the first aligned to the left and the others to the right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join("  ");
  return [line(header), ...rows.map(line)].map((text) => `  ${text.trimEnd()}`).join("\n");
}

/** Microseconds as milliseconds. */
export function ms(micros: number): string {
  return (micros / 1e3).toFixed(micros < 1e5 ? 2 : 0);
}

/** `worker 31.2 + nats-server 20.1` */
export function byRole(figures: Readonly<Record<string, number>>): string {
  return Object.entries(figures)
    .map(([role, figure]) => `${role} ${figure.toFixed(1)}`)
    .join(" + ");
}
