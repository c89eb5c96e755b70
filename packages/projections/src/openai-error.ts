import { type RepriseError, toErrorBody, toHttpStatus } from "@reprise/protocol";

/** An error as OpenAI's API has it. `code` is one of the native catalogue, or `restarted`. */
export interface OpenAiErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string;
  };
}

/** The body of an answer that is an error. The status is the native error's. */
export function toOpenAiError(error: RepriseError): OpenAiErrorBody {
  const { code, message, param } = toErrorBody(error).error;
  return { error: { message, type: openAiErrorType(toHttpStatus(error.code)), param: param ?? null, code } };
}

/** OpenAI's error type for a status. */
export function openAiErrorType(status: number): string {
  if (status >= 500) return "server_error";
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return "invalid_request_error";
}
