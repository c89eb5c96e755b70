import type { Engine } from "../engines/engine.ts";

/** An engine that does what a test says, and can continue nothing unless told otherwise. */
export function createFakeEngine(generate: Engine["generate"], overrides: Partial<Engine> = {}): Engine {
  return {
    name: "fake",
    canContinue: () => false,
    generate,
    close: async () => undefined,
    ...overrides,
  };
}

/** Never resolves; rejects with the signal's reason as soon as that aborts, as an engine's wait does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
