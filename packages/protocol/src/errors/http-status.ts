import type { ErrorCode } from "./error-code.ts";

/** The one mapping from error codes to HTTP statuses. */
export function toHttpStatus(code: ErrorCode): number {
  switch (code) {
    case "invalid_request":
    case "invalid_json":
    case "cursor_invalid":
      return 400;
    case "unauthenticated":
      return 401;
    case "forbidden":
    case "model_not_allowed":
      return 403;
    case "not_found":
    case "model_not_found":
    case "generation_not_found":
    case "tool_call_not_found":
    case "review_not_found":
    case "tenant_not_found":
    case "key_not_found":
      return 404;
    case "method_not_allowed":
      return 405;
    case "not_acceptable":
      return 406;
    case "idempotency_conflict":
    case "generation_ended":
    case "tool_result_conflict":
    case "review_conflict":
    case "tenant_conflict":
    case "tenants_read_only":
    case "erasure_refused":
      return 409;
    case "cursor_expired":
    case "generation_expired":
    case "generation_erased":
    case "events_lost":
      return 410;
    case "precondition_failed":
      return 412;
    case "body_too_large":
      return 413;
    case "unsupported_media_type":
      return 415;
    case "limit_exceeded":
    case "budget_exceeded":
      return 429;
    case "draining":
    case "overloaded":
    case "budget_unavailable":
    case "broker_unavailable":
    case "moderation_unavailable":
    case "policy_unsupported":
    case "audit_unavailable":
    case "analytics_unavailable":
    case "archive_unavailable":
    case "connection_lost":
      return 503;
    case "engine_unavailable":
    case "engine_rejected":
    case "engine_failed":
    case "worker_lost":
    case "protocol_violation":
      return 502;
    case "queue_timeout":
    case "first_token_timeout":
    case "between_tokens_timeout":
    case "total_timeout":
    case "tool_result_timeout":
      return 504;
    case "internal":
    case "archive_corrupt":
    case "config_invalid":
    case "broker_incompatible":
      return 500;
  }
}
