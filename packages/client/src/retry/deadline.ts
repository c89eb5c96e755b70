import { RepriseError } from "@reprise/protocol/wire";
import type { ClientRuntime } from "./runtime.ts";

export interface DeadlineOptions {
  runtime: ClientRuntime;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * What `work` comes to, but no later than the deadline or the signal: a `fetch` or a body that ignores its own signal must
 * not block the caller. What `work` does afterwards is ignored.
 * @throws RepriseError `connection_lost` at the deadline; the signal's reason when that is aborted
 */
export function withDeadline<T>(
  work: Promise<T>,
  { runtime, timeoutMs, signal }: DeadlineOptions,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => settle(() => reject(abortReason(signal)));
    const cancelTimer = runtime.setTimer(() => {
      settle(() => reject(new RepriseError("connection_lost", `Nothing came for ${timeoutMs} ms.`)));
    }, timeoutMs);
    const settle = (how: () => void): void => {
      cancelTimer();
      signal.removeEventListener("abort", onAbort);
      how();
    };
    work.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
  });
}

/** Why a signal was aborted. React Native's signals have no `reason`, and its engine no `DOMException`. */
export function abortReason(signal: AbortSignal): Error {
  return (signal.reason as Error | undefined) ?? createAbortError("The operation was aborted.");
}

export function createAbortError(message: string): Error {
  return Object.assign(new Error(message), { name: "AbortError" });
}
