import { RepriseError } from "@reprise/protocol";
import { DatabaseError } from "pg";

/** Of SQLSTATE: what is wrong with a value, or with what it would make of a table. */
const OF_VALUES = /^2[23]/;

/**
 * What a failure of PostgreSQL means for analytics. It has neither the statement nor a value: a message about a value may repeat it.
 */
export function toPostgresFailure(error: unknown): RepriseError {
  if (error instanceof RepriseError) return error;
  if (!(error instanceof DatabaseError))
    return new RepriseError("archive_unavailable", `PostgreSQL can't be reached: ${reasonOf(error)}.`);
  const { code = "unknown", message } = error;
  if (OF_VALUES.test(code)) return new RepriseError("internal", `PostgreSQL refuses a value (${code}).`);
  return new RepriseError("archive_unavailable", `PostgreSQL: ${message} (${code}).`);
}

/** Where a name has several addresses, Node's error has an empty message and one error for each of them. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
