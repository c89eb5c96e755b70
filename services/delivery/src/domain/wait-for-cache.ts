import type { GenerationCache } from "@reprise/stream";

/** Resolves as soon as a condition on a cache is met, the time is up where there is one, or the signal is aborted. */
export function waitForCache(
  cache: GenerationCache,
  isMet: () => boolean,
  { waitMs, signal }: { waitMs?: number; signal?: AbortSignal },
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopListening();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const check = () => {
      if (isMet()) done();
    };
    const timer = waitMs === undefined ? undefined : setTimeout(done, waitMs);
    const stopListening = cache.listen(check);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
    else check();
  });
}
