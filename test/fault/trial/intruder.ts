import { setTimeout as delay } from "node:timers/promises";
import type { Trial } from "./trial.ts";

const PAUSE_MS = 150;
/** The answers that another tenant's key may get: that there is none, or that nothing can be said now. */
const PERMITTED = new Set([404, 503]);

/** Asks again and again for generations with the other tenant's key, through all faults of the platform. */
export async function intrude(trial: Trial, over: AbortSignal): Promise<void> {
  const { tenants, deliveries } = trial.world;
  for (let turn = 0; !over.aborted; turn++) {
    await delay(PAUSE_MS, undefined, { signal: over }).catch(() => {});
    const generation = trial.generations[turn % Math.max(1, trial.generations.length)];
    const stranger = tenants.find(({ id }) => id !== generation?.tenant.id);
    if (!generation || !stranger) continue;
    const { url } = deliveries[turn % deliveries.length]!;
    const path = turn % 2 === 0 ? "" : "/events";
    const status = await ask(`${url}/v1/generations/${generation.id}${path}`, stranger.key, over);
    if (status !== undefined && !PERMITTED.has(status))
      trial.blame(
        "foreign",
        `${stranger.id} was answered ${status} for ${generation.id} of ${generation.tenant.id}`,
      );
  }
}

/** The status of the answer; undefined when there is none. */
async function ask(url: string, key: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal });
    await response.body?.cancel();
    return response.status;
  } catch {
    return undefined;
  }
}
