import type { JsonValue } from "@reprise/protocol";
import { PatternBudget } from "../patterns/pattern-budget.ts";
import { checkSchema } from "./check-schema.ts";
import type { Fit } from "./fit.ts";
import { Validation, ValidationSpent } from "./validation.ts";

/** As JSON. */
const MAX_SCHEMA_LENGTH = 65_536;
/** Cost of one validation beside its patterns, at most: some tens of milliseconds, in which the worker does nothing else. */
const MAX_STEPS = 100_000;

/**
 * Whether a value fits a tenant's schema. An interpreter: nothing of the schema becomes code, nothing is fetched, and the cost is bounded,
 * whatever the schema and the value are. Undefined where the answer is not certain: keywords that drafts and engines read in different
 * ways, patterns beyond RE2, and what would cost too much.
 * @param patterns searches for the schema's patterns, within a budget
 */
export function fitsSchema(schema: JsonValue, value: JsonValue, patterns = new PatternBudget()): Fit {
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH) return undefined;
  const validation = new Validation(schema, MAX_STEPS, patterns);
  try {
    return checkSchema(schema, value, validation);
  } catch (error) {
    if (error instanceof ValidationSpent) return undefined;
    throw error;
  }
}
