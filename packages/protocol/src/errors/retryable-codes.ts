import type { ERROR_CATALOGUE, ErrorCode } from "./error-code.ts";

type RetryableCode = {
  [C in ErrorCode]: (typeof ERROR_CATALOGUE)[C]["retryable"] extends true ? C : never;
}[ErrorCode];

/** The codes that the catalogue has as retryable; the compiler compares the two. Apart from it, so that a page loads these alone. */
const RETRYABLE_CODES: Readonly<Record<RetryableCode, true>> = {
  conversation_busy: true,
  limit_exceeded: true,
  draining: true,
  overloaded: true,
  budget_unavailable: true,
  broker_unavailable: true,
  moderation_unavailable: true,
  policy_unsupported: true,
  request_unsupported: true,
  media_unavailable: true,
  audit_unavailable: true,
  analytics_unavailable: true,
  archive_unavailable: true,
  engine_unavailable: true,
  engine_failed: true,
  worker_lost: true,
  queue_timeout: true,
  first_token_timeout: true,
  between_tokens_timeout: true,
  total_timeout: true,
  tool_result_timeout: true,
  connection_lost: true,
};

/** Returns true if the same call, unchanged, can succeed later. */
export function isRetryable(code: ErrorCode): boolean {
  return Object.hasOwn(RETRYABLE_CODES, code);
}
