import { RepriseError } from "@reprise/protocol/wire";
import type { ClientRuntime } from "./runtime.ts";

export interface DeadlineOptions {
  runtime: ClientRuntime;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Settles as `work` does, but no later than the deadline or the signal: a `fetch` or a body that ignores its own signal must not block the caller. Later
 * results of `work` are ignored.
 * @throws RepriseError `connection_lost` at the deadline; the signal's reason when that is aborted
 */
export function withDeadline<T>(
  work: Promise<T>,
  { runtime, timeoutMs, signal }: DeadlineOptions,
): Promise<T> {
  return unlessAborted(signal, (resolve, reject) => {
    work.then(resolve, reject);
    return runtime.setTimer(
      () => reject(new RepriseError("connection_lost", `Nothing came for ${timeoutMs} ms.`)),
      timeoutMs,
    );
  });
}

/**
 * Settles as `start` decides, unless the signal is aborted before. `start` returns a function that removes its timers and listeners, which is called in
 * either case.
 * @throws the signal's reason when that is aborted
 */
export async function unlessAborted<T>(
  signal: AbortSignal,
  start: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  let stop: (() => void) | undefined;
  let onAbort!: () => void;
  try {
    return await new Promise<T>((resolve, reject) => {
      onAbort = () => reject(abortReason(signal));
      stop = start(resolve, reject);
      signal.addEventListener("abort", onAbort);
      if (signal.aborted) onAbort();
    });
  } finally {
    stop?.();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Why a signal was aborted. React Native's signals have no `reason`, and its engine no `DOMException`. */
export function abortReason(signal: AbortSignal): Error {
  return (signal.reason as Error | undefined) ?? createAbortError("The operation was aborted.");
}

export function createAbortError(message: string): Error {
  return Object.assign(new Error(message), { name: "AbortError" });
}
