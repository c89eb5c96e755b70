import type { Draw } from "../draw.ts";

/** Texts with nothing to find, of one sort. */
export interface InnocentSort {
  readonly name: string;
  readonly make: (draw: Draw) => string;
}

export function padded(number: number, digits: number): string {
  return String(number).padStart(digits, "0");
}

/** With a comma for each thousand. */
export function withCommas(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
