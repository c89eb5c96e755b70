/** The client's dependencies on its runtime, besides `fetch`. */
export interface ClientRuntime {
  /** Milliseconds since 1970. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  /** Calls back once, after `delayMs`. Returns what takes it back. */
  setTimer(callback: () => void, delayMs: number): () => void;
  /** Calls back whenever a network may have come back: a retry is due then. Returns what takes it back. */
  onWake(callback: () => void): () => void;
}

/** The longest delay that timers know; with a longer one they fire at once. */
const MAX_TIMER_MS = 2_147_483_647;

export const SYSTEM_RUNTIME: ClientRuntime = {
  now: () => Date.now(),
  random: () => Math.random(),
  setTimer(callback, delayMs) {
    const timer = setTimeout(callback, Math.min(delayMs, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
  onWake(callback) {
    // A page has both; a worker has no document, and Node and React Native have neither.
    const onVisible = (): void => {
      if (globalThis.document.visibilityState === "visible") callback();
    };
    globalThis.addEventListener?.("online", callback);
    globalThis.document?.addEventListener("visibilitychange", onVisible);
    return () => {
      globalThis.removeEventListener?.("online", callback);
      globalThis.document?.removeEventListener("visibilitychange", onVisible);
    };
  },
};
