import { type ErrorCode, RepriseError } from "@reprise/protocol";

/*
 * What passes between a process's main thread and one beside it. A RepriseError loses its class on the way, so its fields are sent.
 */

export interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

export type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: SentError };

export type SentError =
  | { readonly kind: "reprise"; readonly fields: ErrorFields }
  | { readonly kind: "other"; readonly error: unknown };

interface ErrorFields {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;
}

export function toSentError(error: unknown): SentError {
  if (!(error instanceof RepriseError)) return { kind: "other", error };
  const { code, message, param, retryAfterMs } = error;
  return { kind: "reprise", fields: { code, message, param, retryAfterMs } };
}

export function fromSentError(sent: SentError): unknown {
  if (sent.kind === "other") return sent.error;
  const { code, message, param, retryAfterMs } = sent.fields;
  return new RepriseError(code, message, {
    ...(param !== undefined && { param }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}
