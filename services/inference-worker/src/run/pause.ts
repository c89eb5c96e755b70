/** Waits so long, or until the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", over);
    resolve();
  };
  const timer = setTimeout(over, ms);
  signal.addEventListener("abort", over);
  if (signal.aborted) over();
  return promise;
}
