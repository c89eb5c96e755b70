/**
 * The closed catalogue of error codes. A code is the only thing that programs may branch on: messages are for people.
 *
 * `retryable` says whether the same call, unchanged, can succeed later. PROTOCOL.md §9 lists the same codes;
 * a test compares the two in both directions.
 */
export const ERROR_CATALOGUE = {
  // The request is wrong.
  /** A field, header or parameter is missing, malformed or over its limit. */
  invalid_request: { retryable: false },
  /** The body is not JSON in UTF-8. */
  invalid_json: { retryable: false },
  /** The body is larger than 1 MiB. */
  body_too_large: { retryable: false },
  /** The body's Content-Type is not application/json, or it is compressed. */
  unsupported_media_type: { retryable: false },
  /** The Accept header names no type that this call can answer with. */
  not_acceptable: { retryable: false },
  /** No API key or stream token was sent, or it is not known, not valid, expired or revoked. */
  unauthenticated: { retryable: false },
  /** The API key or stream token lacks the role for this call. */
  forbidden: { retryable: false },
  /** There is no such path. */
  not_found: { retryable: false },
  /** The path exists, but not with this method. */
  method_not_allowed: { retryable: false },
  /** No engine is configured for this model. */
  model_not_found: { retryable: false },
  /** The model, or its engine, can't do what the field asks for. */
  capability_unsupported: { retryable: false },
  /** The tenant has no generation with this id. */
  generation_not_found: { retryable: false },
  /** The generation was kept for as long as the log keeps one, and is gone. */
  generation_expired: { retryable: false },
  /** The generation has ended: there is nothing to answer any more. */
  generation_ended: { retryable: false },
  /** The number of an input entry is not the next one: entries before it are missing. The message names the next. */
  input_gap: { retryable: false },
  /** The generation takes no input, or its input has ended. */
  input_ended: { retryable: false },
  /** The number of an output entry is not the next one: entries before it are missing. The message names the next. */
  output_gap: { retryable: false },
  /** The epoch of a producer is not the generation's: another producer has claimed a later one, or workers run it. */
  producer_fenced: { retryable: false },
  /** The generation has no tool call with this id. */
  tool_call_not_found: { retryable: false },
  /** The tool call has its answer already. */
  tool_result_conflict: { retryable: false },
  /** The Idempotency-Key was used with a different request. */
  idempotency_conflict: { retryable: false },
  /** The cursor is malformed or does not belong to this generation's log. */
  cursor_invalid: { retryable: false },
  /** The events after the cursor are no longer kept. */
  cursor_expired: { retryable: false },
  /** The broker has lost events that readers had seen, including that of this cursor: the log continues from before them. */
  events_lost: { retryable: false },
  /** The tenant has no review with this id. */
  review_not_found: { retryable: false },
  /** The review was decided otherwise already. */
  review_conflict: { retryable: false },
  /** The tenant has no blob with this id, or has it no longer. */
  blob_not_found: { retryable: false },
  /** The tenant has no conversation with this id, or has it no longer. */
  conversation_not_found: { retryable: false },
  /** The conversation's last turn has not ended, or another create came before this one. */
  conversation_busy: { retryable: true },
  /** The conversation and the new turn do not fit the model's context or one request, or it has its most turns. */
  conversation_full: { retryable: false },
  /** The tenant has no durable stream with this name, or has it no longer. */
  stream_not_found: { retryable: false },
  /** The durable stream has another configuration, another content type, or a later Stream-Seq. */
  stream_conflict: { retryable: false },
  /** The durable stream is closed: it takes no more. */
  stream_closed: { retryable: false },
  /** A limit of the tenant, the key, the end user or the address is reached: nothing was done. `param` is the limit's name. */
  limit_exceeded: { retryable: true },
  /** A budget of the tenant is used up: nothing was done, or the generation ends with what there is. `param` is the budget's name. */
  budget_exceeded: { retryable: false },
  /** A budget of the tenant is in money, and the model, or its fallback, has no price in that currency. `param` is the budget's name. */
  budget_unpriced: { retryable: false },
  /** The tenant's administrator does not allow this model. */
  model_not_allowed: { retryable: false },
  /** There is no tenant with this id. */
  tenant_not_found: { retryable: false },
  /** There is a tenant with this id already. */
  tenant_conflict: { retryable: false },
  /** There was a tenant with this id. It was removed, and an id is never given again. */
  tenant_removed: { retryable: false },
  /** The tenant has no API key, or signing key, with this id. */
  key_not_found: { retryable: false },
  /** The tenants file owns all tenants: they are changed there. */
  tenants_read_only: { retryable: false },
  /** The tenant is not, or no longer, the one that If-Match names. */
  precondition_failed: { retryable: false },
  // The platform can't answer now.
  /** This node is shutting down; another node, or this one later, will answer. */
  draining: { retryable: true },
  /** The tenant has more bytes of requests under way than its share, or the address more connections: nothing was done. */
  overloaded: { retryable: true },
  /** The rest of the tenant's budgets is unknown, and this node's share of it is used up. */
  budget_unavailable: { retryable: true },
  /** The log can't be reached or did not answer in time. */
  broker_unavailable: { retryable: true },
  /** Moderation does not judge what was generated, and the policy shows nothing that was not judged. */
  moderation_unavailable: { retryable: true },
  /** This node is older than the one that wrote the generation's policy, and can't read it. */
  policy_unsupported: { retryable: true },
  /** A worker is older than the node that took the request, and can't run it. */
  request_unsupported: { retryable: true },
  /** An https URL of the request cannot be fetched now. */
  media_unavailable: { retryable: true },
  /** No replica of the audit log answers. */
  audit_unavailable: { retryable: true },
  /** No replica of analytics answers. */
  analytics_unavailable: { retryable: true },
  /** The storage of the audit log's archive, or of what analytics has measured, can't be reached. */
  archive_unavailable: { retryable: true },
  /** The archive is not as it was written. */
  archive_corrupt: { retryable: false },
  /** The generation's keys were destroyed: what is left of it can't be read. */
  generation_erased: { retryable: false },
  /** A legal hold, or the least time it must be kept, forbids to erase it. */
  erasure_refused: { retryable: false },
  /** A defect in the platform; its log says more. */
  internal: { retryable: false },
  // A generation failed: `generation.failed` carries one of these.
  /** The engine could not be reached or is overloaded. */
  engine_unavailable: { retryable: true },
  /** The engine refused the request as it is. */
  engine_rejected: { retryable: false },
  /** The engine broke off or sent what is not a stream of tokens. */
  engine_failed: { retryable: true },
  /** Every permitted attempt lost its worker. */
  worker_lost: { retryable: true },
  /** No worker has begun with it in time. */
  queue_timeout: { retryable: true },
  /** The engine has not said its first token in time. */
  first_token_timeout: { retryable: true },
  /** The engine has paused for too long between two tokens. */
  between_tokens_timeout: { retryable: true },
  /** The generation has taken too long as a whole. */
  total_timeout: { retryable: true },
  /** A tool call was not answered in time. */
  tool_result_timeout: { retryable: true },
  // The process can't run as configured.
  /** The environment or a configuration file is wrong. */
  config_invalid: { retryable: false },
  /** The broker is too old, lacks JetStream or has a limit that is too small. */
  broker_incompatible: { retryable: false },
  // The SDK gave up.
  /** The client could not reach the platform within its retry budget. */
  connection_lost: { retryable: true },
  /** The peer sent what PROTOCOL.md does not allow. */
  protocol_violation: { retryable: false },
} as const satisfies Record<string, { retryable: boolean }>;

export type ErrorCode = keyof typeof ERROR_CATALOGUE;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CATALOGUE, value);
}
