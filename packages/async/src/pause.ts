/** Resolves after this number of milliseconds, or as soon as the signal is aborted. Never rejects, and leaves no listener on the signal. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const end = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal?.addEventListener("abort", end);
  if (signal?.aborted) end();
  return promise;
}

/** Resolves when the work has ended, or after this number of milliseconds: then its result is ignored. Rejects as the work does. */
export async function waitAtMost(ms: number, work: PromiseLike<unknown> | undefined): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, pause(ms, over.signal)]);
  } finally {
    over.abort();
  }
}
