/** What the client takes from its surroundings besides `fetch`. Tests put their own in its place. */
export interface ClientRuntime {
  /** Milliseconds since 1970. */
  now(): number;
  /** At least 0, less than 1. */
  random(): number;
  /** Calls back once, after `delayMs`. Returns what takes it back. */
  setTimer(callback: () => void, delayMs: number): () => void;
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
};
