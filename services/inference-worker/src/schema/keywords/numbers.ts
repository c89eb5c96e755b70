import type { Fit } from "../fit.ts";
import type { Keyword } from "./keyword.ts";

/** Farther from a whole number than any rounding of a quotient below the size. */
const CLEARLY_BROKEN = 1e-6;
const EXACT_QUOTIENT = 1e9;

/** What is said of numbers. */
export const NUMBER_KEYWORDS: Readonly<Record<string, Keyword>> = {
  minimum: bound("exclusiveMinimum", (value, limit) => value >= limit),
  maximum: bound("exclusiveMaximum", (value, limit) => value <= limit),
  exclusiveMinimum: exclusiveBound((value, limit) => value > limit),
  exclusiveMaximum: exclusiveBound((value, limit) => value < limit),
  multipleOf(setting, value) {
    if (typeof value !== "number") return true;
    if (typeof setting !== "number" || !(setting > 0)) return undefined;
    if (Number.isSafeInteger(value) && Number.isSafeInteger(setting)) return value % setting === 0;
    const quotient = Math.abs(value / setting);
    const isBroken = Math.abs(quotient - Math.round(quotient)) > CLEARLY_BROKEN;
    return quotient < EXACT_QUOTIENT && isBroken ? false : undefined;
  },
};

function bound(exclusive: string, holds: (value: number, limit: number) => boolean): Keyword {
  return (setting, value, { schema }): Fit => {
    if (typeof value !== "number") return true;
    if (typeof setting !== "number" || !Number.isFinite(value)) return undefined;
    // Draft 4 says with a boolean beside it whether the limit itself fits.
    const isOpen = value === setting && schema[exclusive] === true;
    return isOpen ? undefined : holds(value, setting);
  };
}

function exclusiveBound(holds: (value: number, limit: number) => boolean): Keyword {
  return (setting, value): Fit => {
    if (typeof value !== "number" || typeof setting === "boolean") return true;
    if (typeof setting !== "number" || !Number.isFinite(value)) return undefined;
    return holds(value, setting);
  };
}
