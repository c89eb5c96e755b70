import { expect, test } from "vitest";
import { formatValue } from "./units.ts";

test.each([
  [0, "s", "0 s"],
  [0.000_25, "s", "250 µs"],
  [0.0425, "s", "42.5 ms"],
  [461.2, "ms", "461 ms"],
  [90_000, "ms", "1.5 min"],
  [0.988, "percentunit", "98.8 %"],
  [0.001, "percentunit", "0.1 %"],
  [220 * 1_024 ** 2, "bytes", "220 MiB"],
  [1_500, "ops", "1.5 K/s"],
  [11_800, "short", "11.8 K"],
  [0, "short", "0"],
  [1_234, "none", "1234"],
])("%s in the unit %s is shown as %s", (value, unit, shown) => {
  expect(formatValue(value, unit)).toBe(shown);
});
