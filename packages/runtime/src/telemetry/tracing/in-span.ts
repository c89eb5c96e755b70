import { toRepriseError } from "@reprise/protocol";
import type { TraceSpan } from "./tracing.ts";

/** Ends the span with the work, and marks it as failed with the code of what the work throws. */
export async function inSpan<T>(span: TraceSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(toRepriseError(error).code);
    throw error;
  } finally {
    span.end();
  }
}
