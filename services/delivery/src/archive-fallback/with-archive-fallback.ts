import { type ErrorCode, RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { lacksRole, type ReadingRole } from "../http/auth.ts";

export interface AuditedCall<T> {
  readonly principal: Principal;
  /** True if the caller asks for the original text, which only the archive has, and which only auditors may read. */
  readonly original: boolean;
  /** Given the role by which the caller reads. */
  readonly live: (role: ReadingRole) => Promise<T>;
  /** By the role `audit`. */
  readonly archived: () => Promise<T>;
  /** Rejects unless it is recorded. */
  readonly recordAccess: () => Promise<void>;
}

/** Error codes of the live log for a generation that it no longer has completely. */
const GONE: ReadonlySet<ErrorCode> = new Set([
  "generation_not_found",
  "generation_expired",
  "cursor_expired",
]);

/**
 * Answers from the live log, and an auditor, where that is gone, from the archive. Access by the role `audit` alone is
 * recorded first; a key that may read the live log anyway reads it without a record.
 * @throws RepriseError `forbidden`; what the two sources throw: the live log's error where the archive does not have the generation
 */
export async function withArchiveFallback<T>(call: AuditedCall<T>): Promise<T> {
  const { principal, original, live, archived, recordAccess } = call;
  const mayRead = principal.roles.has("read");
  if (!principal.roles.has("audit")) {
    if (original) throw lacksRole("audit");
    return live("read");
  }
  if (original || !mayRead) await recordAccess();
  if (original) return archived();
  try {
    return await live(mayRead ? "read" : "audit");
  } catch (error) {
    if (!(error instanceof RepriseError && GONE.has(error.code))) throw error;
    if (mayRead) await recordAccess();
    return await archived().catch((unknown: unknown) => {
      throw unknown instanceof RepriseError && unknown.code === "generation_not_found" ? error : unknown;
    });
  }
}
