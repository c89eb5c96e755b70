import { RepriseError } from "@reprise/protocol";

/**
 * Why a process does not start, for stderr: what the platform or the system refuses in its own words, without a stack; a defect with
 * its stack.
 */
export function describeFailure(error: unknown): string {
  if (error instanceof RepriseError && error.code !== "internal") return error.message;
  if (isSystemError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** A port that is taken, a folder that can't be written: Node names the system call. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string";
}
