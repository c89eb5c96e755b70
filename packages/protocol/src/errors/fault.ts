import type { ErrorCode } from "./error-code.ts";

/** Whose fault it is that a generation did not complete. Operators answer for the first two. */
export type Fault = "platform" | "engine" | "tenant" | "client";

/** The fault of a generation that failed with this code. What is not known to be another's is the platform's. */
export function toFault(code: ErrorCode): Fault {
  switch (code) {
    case "engine_unavailable":
    case "engine_rejected":
    case "engine_failed":
    case "first_token_timeout":
    case "between_tokens_timeout":
    case "total_timeout":
      return "engine";
    case "budget_exceeded":
    case "budget_unpriced":
    case "limit_exceeded":
    case "model_not_allowed":
      return "tenant";
    case "invalid_request":
    case "capability_unsupported":
    case "conversation_full":
    case "idempotency_conflict":
    case "blob_not_found":
    case "media_unavailable":
    case "tool_result_timeout":
      return "client";
    default:
      return "platform";
  }
}
