/**
 * The closed catalogue of error codes. A code is the only thing that programs may branch on: messages are for people.
 *
 * `retryable` says whether the same call, unchanged, can succeed later. PROTOCOL.md §9 lists the same codes;
 * a test compares the two in both directions.
 */
export const ERROR_CATALOGUE = {
  // The request is wrong.
  invalid_request: {
    retryable: false,
    meaning: "A field, header or parameter is missing, malformed or over its limit.",
  },
  invalid_json: { retryable: false, meaning: "The body is not JSON." },
  body_too_large: { retryable: false, meaning: "The body is larger than 1 MiB." },
  unsupported_media_type: { retryable: false, meaning: "The body's Content-Type is not application/json." },
  not_acceptable: {
    retryable: false,
    meaning: "The Accept header names no type that this call can answer with.",
  },
  unauthenticated: { retryable: false, meaning: "No API key was sent, or it is not known." },
  forbidden: { retryable: false, meaning: "The API key is known but lacks the role for this call." },
  not_found: { retryable: false, meaning: "There is no such path." },
  method_not_allowed: { retryable: false, meaning: "The path exists, but not with this method." },
  model_not_found: { retryable: false, meaning: "No engine is configured for this model." },
  generation_not_found: { retryable: false, meaning: "The tenant has no generation with this id." },
  idempotency_conflict: {
    retryable: false,
    meaning: "The Idempotency-Key was used with a different request.",
  },
  cursor_invalid: {
    retryable: false,
    meaning: "The cursor is malformed or does not belong to this generation's log.",
  },
  cursor_expired: { retryable: false, meaning: "The events after the cursor are no longer kept." },
  // The platform can't answer now.
  draining: {
    retryable: true,
    meaning: "This node is shutting down; another node, or this one later, will answer.",
  },
  broker_unavailable: { retryable: true, meaning: "The log can't be reached or did not answer in time." },
  internal: { retryable: false, meaning: "A defect in the platform; its log says more." },
  // A generation failed: `generation.failed` carries one of these.
  engine_unavailable: { retryable: true, meaning: "The engine could not be reached or is overloaded." },
  engine_rejected: { retryable: false, meaning: "The engine refused the request as it is." },
  engine_failed: { retryable: true, meaning: "The engine broke off or sent what is not a stream of tokens." },
  worker_lost: { retryable: true, meaning: "Every permitted attempt lost its worker." },
  // The process can't run as configured.
  config_invalid: { retryable: false, meaning: "The environment or a configuration file is wrong." },
  broker_incompatible: {
    retryable: false,
    meaning: "The broker is too old, lacks JetStream or has a limit that is too small.",
  },
  // The SDK gave up.
  connection_lost: {
    retryable: true,
    meaning: "The client could not reach the platform within its retry budget.",
  },
  protocol_violation: { retryable: false, meaning: "The peer sent what PROTOCOL.md does not allow." },
} as const satisfies Record<string, { retryable: boolean; meaning: string }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CATALOGUE, value);
}
