import { type ErrorCode, RepriseError, type RepriseErrorOptions } from "@reprise/protocol";

/**
 * What asking the same engine again can change. `never`: nothing. `busy`: it takes no request now, and has not begun with this one.
 * `silent`: it has the request and has not answered in time; it may still be at it. `broken`: it could not be reached, or broke off.
 */
export type EngineRetry = "never" | "busy" | "silent" | "broken";

export interface EngineErrorOptions extends Pick<RepriseErrorOptions, "retryAfterMs"> {
  readonly retry: EngineRetry;
  /** What the engine has said about it, redacted: for the worker's log alone. */
  readonly said?: string | undefined;
  /** True if the request is at fault: another one would have been answered. Default false. */
  readonly isRequests?: boolean | undefined;
  /** True if nothing has answered at the engine's address. Default false. */
  readonly isUnreachable?: boolean | undefined;
}

/** An engine's failure. The message is the platform's own, for it ends in the log that readers see. */
export class EngineError extends RepriseError {
  readonly retry: EngineRetry;
  readonly said: string | undefined;
  readonly isRequests: boolean;
  readonly isUnreachable: boolean;

  constructor(
    code: Extract<ErrorCode, `engine_${string}`>,
    message: string,
    { retry, said, isRequests = false, isUnreachable = false, retryAfterMs }: EngineErrorOptions,
  ) {
    super(code, message, { retryAfterMs });
    this.retry = retry;
    this.said = said;
    this.isRequests = isRequests;
    this.isUnreachable = isUnreachable;
  }
}
