import type { ArchiveRecord } from "@reprise/archive";
import { RepriseError, type UnixMs } from "@reprise/protocol";
import type { FoundGenerations, GenerationFilter } from "./find-generations.ts";

type Hold = Extract<ArchiveRecord, { kind: "hold_set" }>;

const DAY_US = 86_400_000_000;

/** True if a hold protects any of these generations from erasure and deletion. */
function isHeld(
  { tag, generation }: Pick<Hold, "tag" | "generation">,
  wanted: Pick<GenerationFilter, "tag">,
  found: FoundGenerations,
): boolean {
  if (generation !== undefined) return found.has(generation);
  if (tag === undefined || tag === wanted.tag) return true;
  // What can't be read may be what is held.
  return [...found.values()].some(({ tags, isPartlyUnread }) => isPartlyUnread || tags.has(tag));
}

/** @throws RepriseError `erasure_refused` */
export function assertNotHeld(
  holds: readonly Hold[],
  wanted: GenerationFilter,
  found: FoundGenerations,
): void {
  const hold = holds.find((one) => isHeld(one, wanted, found));
  if (hold)
    throw new RepriseError("erasure_refused", `The legal hold ${hold.id} (${hold.reason}) forbids it.`);
}

/**
 * @param firstAtUs since when each of it is kept, microseconds since 1970; undefined: since now
 * @param minDays for how long the tenant must keep everything
 * @throws RepriseError `erasure_refused`
 */
export function assertOldEnough(
  firstAtUs: readonly (number | undefined)[],
  minDays: number,
  nowMs: UnixMs,
): void {
  const youngest = firstAtUs.reduce<number>((most, at = nowMs * 1_000) => Math.max(most, at), -Infinity);
  if (youngest + minDays * DAY_US <= nowMs * 1_000) return;
  throw new RepriseError(
    "erasure_refused",
    `The tenant must keep everything for ${minDays} days, and something of this is younger: only --despite-minimum erases it.`,
  );
}
