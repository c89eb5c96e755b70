import { setTimeout as delay } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";
import { PATIENCE_MS } from "../eventually.ts";

const PAUSE_MS = 20;

/**
 * Asks until the broker answers: the broker, or this process, may be paused for longer than a service would wait.
 * @throws its last error after two minutes
 */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (const giveUpMs = performance.now() + PATIENCE_MS; ;) {
    try {
      return await ask();
    } catch (error) {
      const isAway = error instanceof RepriseError && error.code === "broker_unavailable";
      if (!isAway || performance.now() > giveUpMs) throw error;
      // The timer must not keep a process alive whose test has given up waiting.
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }
}
