import { Semaphore } from "@reprise/async";
import type { GenerationLog, Hub } from "@reprise/stream";
import type { Metrics } from "@reprise/runtime";
import { recordUnjudged } from "./record-unjudged.ts";

const RECORDINGS = 16;

/** Returns the hub's callbacks for late moderation: it is measured, and recorded in the log when readers no longer wait for it. */
export function watchModeration(
  log: GenerationLog,
  metrics: Metrics,
): Pick<ConstructorParameters<typeof Hub>[0], "onModerationTimeout" | "onLag"> {
  const unjudged = metrics.counter("reprise_moderation_unavailable_total");
  // Each reads a log, and when moderation goes all of them are due at once.
  const recordings = new Semaphore(RECORDINGS);
  const lagSeconds = metrics.histogram("reprise_moderation_lag_seconds");
  const lagCharacters = metrics.histogram("reprise_moderation_lag_characters");
  return {
    async onModerationTimeout(cache, judged) {
      const answer = await recordings.run(() => recordUnjudged(log, cache, judged));
      if (answer) unjudged.inc({ answer });
    },
    onLag({ ms, characters }) {
      lagSeconds.observe(ms / 1_000);
      lagCharacters.observe(characters);
    },
  };
}
