/** A value with Grafana's unit, short enough for an axis. */
export function formatValue(value: number, unit: string): string {
  switch (unit) {
    case "s":
      return formatSeconds(value);
    case "ms":
      return formatSeconds(value / 1e3);
    case "percentunit":
      return `${round(100 * value)} %`;
    case "bytes":
      return scaled(value, 1_024, ["B", "KiB", "MiB", "GiB"]);
    case "ops":
      return `${scaled(value, 1_000, ["", "K", "M"]).trim()}/s`;
    case "short":
      return scaled(value, 1_000, ["", "K", "M", "G"]).trim();
    default:
      return String(round(value));
  }
}

function formatSeconds(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 0.001) return `${round(seconds * 1e6)} µs`;
  if (size < 1) return `${round(seconds * 1e3)} ms`;
  if (size < 60) return `${round(seconds)} s`;
  return size < 3_600 ? `${round(seconds / 60)} min` : `${round(seconds / 3_600)} h`;
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= step && unit < units.length - 1) {
    rest /= step;
    unit++;
  }
  return `${round(rest)} ${units[unit]}`;
}

/** Three digits that say something, and whole numbers as they are. */
function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
