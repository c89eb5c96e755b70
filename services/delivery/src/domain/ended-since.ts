import { isTerminal, peekType, toUnixMs, unixNow, type GenerationRef } from "@reprise/protocol";
import { readGeneration } from "./read-generation.ts";
import type { ReadSources } from "./shown-generation.ts";

/**
 * For how many milliseconds a generation has had its end, and its readers all of it; 0 while they do not, and `Infinity` where there is no log.
 * @throws RepriseError as `readGeneration`
 */
export async function endedSinceMs(sources: ReadSources, ref: GenerationRef): Promise<number> {
  const last = await sources.log.reader.readLast(ref);
  if (!last) return Number.POSITIVE_INFINITY;
  const type = peekType(last.payload);
  // Only moderation appends after an end.
  if (!isTerminal(type) && !type.startsWith("moderation.")) return 0;
  const { settled } = await readGeneration(sources, ref);
  const endedAtMs = last.storedAt === undefined ? unixNow() : toUnixMs(last.storedAt);
  return settled ? Math.max(1, unixNow() - endedAtMs) : 0;
}
