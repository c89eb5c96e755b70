import { setTimeout as delay } from "node:timers/promises";
import { RepriseError } from "@reprise/protocol";

const PAUSE_MS = 20;

/** Asks until the broker answers: it, or this process, may stand still for longer than a service would wait. */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof RepriseError && error.code === "broker_unavailable")) throw error;
      // The timer must not keep a process alive whose test has given up waiting.
      await delay(PAUSE_MS, undefined, { ref: false });
    }
  }
}
