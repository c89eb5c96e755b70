import type { GenerationCache } from "@reprise/log";

/** Resolves as soon as something is so of a cache, or when the time is up, or when the waiting is called off. */
export function waitForCache(
  cache: GenerationCache,
  isSo: () => boolean,
  { waitMs, signal }: { waitMs: number; signal?: AbortSignal },
): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stopListening();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const look = () => {
      if (isSo()) done();
    };
    const timer = setTimeout(done, waitMs);
    const stopListening = cache.listen(look);
    signal?.addEventListener("abort", done);
    if (signal?.aborted) done();
    else look();
  });
}
