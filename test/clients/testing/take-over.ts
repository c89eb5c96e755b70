import type { Platform } from "./platform.ts";
import type { Script } from "./sim.ts";

/** Tokens per second. The faster ones are for machines that are idle. */
const PACES = [15, 5, 1] as const;

/**
 * Kills the worker of what a client asks for in the middle of its answer. On a machine so busy that the answer was over before, the client asks anew, at a
 * slower pace: what it had of an undisturbed run is left alone.
 * @param ask asks for a run of its own each time it is called
 */
export async function takeOver<T>(
  platform: Platform,
  script: Script,
  ask: (paced: Script) => Promise<T>,
): Promise<T> {
  for (const pace of PACES) {
    const asked = ask({ ...script, options: { ...script.options, tokens_per_second: pace } });
    const id = await Promise.race([platform.untilSaid(5), asked.then(() => undefined)]);
    const isTakenOver = id !== undefined && (await platform.killWorkerOf(id));
    const told = await asked;
    if (isTakenOver) return told;
  }
  throw new Error(`Each answer was over before its worker was killed, at ${PACES.at(-1)} token/s, too.`);
}
