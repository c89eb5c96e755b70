/** Settles as `work` does, unless `signal` aborts first: then this rejects with its reason, and the result of `work` is ignored. */
export async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Aborts so long after `signal` has, with what `reason` gives. Keeps no process alive. */
export function abortAfter(signal: AbortSignal, ms: number, reason: () => unknown): AbortSignal {
  const late = new AbortController();
  const begin = () => void setTimeout(() => late.abort(reason()), ms).unref();
  if (signal.aborted) begin();
  else signal.addEventListener("abort", begin, { once: true });
  return late.signal;
}
