import type { GenerationCache } from "@reprise/log";

/** Resolves as soon as a condition on a cache is met, the time is up, or the signal is aborted. */
export function waitForCache(
  cache: GenerationCache,
  isMet: () => boolean,
  { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
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
    const timer = setTimeout(done, waitMs);
    const stopListening = cache.listen(check);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
    else check();
  });
}
