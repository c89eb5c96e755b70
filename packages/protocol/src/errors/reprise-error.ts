import type { ErrorCode } from "./error-code.ts";
import { isRetryable } from "./retryable-codes.ts";

export interface RepriseErrorOptions {
  /** The field, header, parameter or file path that the error is about. */
  param?: string | undefined;
  cause?: unknown;
  /** When a retry makes sense, in milliseconds from now. */
  retryAfterMs?: number | undefined;
  /** A server's answer for a code, which may be one of a later version. Default: that of the catalogue. */
  retryable?: boolean | undefined;
}

/** Wire form of an error: `{ "error": { "code", "message", "param"?, "retryable" } }`. */
export interface ErrorBody {
  error: { code: string; message: string; param?: string; retryable: boolean };
}

const MESSAGE_LENGTH = 1_024;
const PARAM_LENGTH = 256;

/** The root of every error that Reprise throws. Branch on `code`; `message` states value, name and limit for people. */
export class RepriseError extends Error {
  override readonly name = "RepriseError";
  /** A client passes on what the server says: one that is later than the client may say a code that is not among these. */
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
  /** True if the same call, unchanged, can succeed later. */
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options: RepriseErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param;
    this.retryAfterMs = options.retryAfterMs;
    this.retryable = options.retryable ?? isRetryable(code);
  }
}

/** Both texts may quote what was sent, which is as large as a body: they are cut to what a person reads. */
export function toErrorBody({ code, message, param, retryable }: RepriseError): ErrorBody {
  return {
    error: {
      code,
      message: cut(message, MESSAGE_LENGTH),
      ...(param !== undefined && { param: cut(param, PARAM_LENGTH) }),
      retryable,
    },
  };
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Any thrown value as a RepriseError; what is not one already becomes `internal`, with the original as its cause. */
export function toRepriseError(thrown: unknown): RepriseError {
  if (thrown instanceof RepriseError) return thrown;
  return new RepriseError("internal", "Something went wrong inside the platform.", { cause: thrown });
}
