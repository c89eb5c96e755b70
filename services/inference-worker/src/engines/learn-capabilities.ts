import { pause } from "@reprise/async";
import type { Engine } from "./engine.ts";

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** Asks an engine what its model can do until it has said so, or the signal is aborted. */
export async function learnCapabilities(engine: Engine, signal: AbortSignal): Promise<void> {
  if (!engine.learn) return;
  for (let waitMs = FIRST_PAUSE_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, LONGEST_PAUSE_MS)) {
    if (await engine.learn(signal)) return;
    await pause(waitMs, signal);
  }
}
