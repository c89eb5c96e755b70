import { retryRejected } from "@reprise/async";
import { RepriseError } from "@reprise/protocol";

export interface RetryWhileAwayOptions {
  /** Ends the trying. */
  readonly giveUp: AbortSignal;
  /** Called with each failure. */
  readonly onError: (error: unknown) => void;
}

/** Milliseconds before a broker or a store that can't be reached is tried again. */
export const RETRY_MS = 500;
/** A lane that can't begin is begun again so far apart at most. */
export const MAX_RETRY_MS = 10_000;

/** Tries again while a store can't be reached. @throws the reason to give up, and any other failure */
export function retryWhileAway<T>(
  work: () => Promise<T>,
  { giveUp, onError }: RetryWhileAwayOptions,
): Promise<T> {
  const isAway = (error: unknown) => {
    if (!(error instanceof RepriseError) || error.code !== "archive_unavailable") return false;
    onError(error);
    return true;
  };
  return retryRejected(work, isAway, { pauseMs: RETRY_MS, signal: giveUp });
}
