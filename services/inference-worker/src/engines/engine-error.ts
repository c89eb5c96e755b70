import { type ErrorCode, RepriseError, type RepriseErrorOptions } from "@reprise/protocol";

/**
 * The effect of asking the same engine again. `never`: the result stays the same. `busy`: it takes no request now, and has not begun this one.
 * `silent`: it has the request and has not answered in time; it may still work on it. `broken`: it could not be reached, or the answer broke off.
 */
export type EngineRetry = "never" | "busy" | "silent" | "broken";

export interface EngineErrorOptions extends Pick<RepriseErrorOptions, "retryAfterMs"> {
  readonly retry: EngineRetry;
  /** The engine's own error message, redacted: for the worker's log alone. */
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
