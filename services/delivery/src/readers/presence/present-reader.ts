import type { GenerationCache } from "@reprise/stream";
import type { Position } from "../position.ts";

/** A reader that counts as present. */
export interface PresentReader {
  readonly cache: GenerationCache;
  readonly position: Pick<Position, "takenSeq">;
}

/** Undefined where nothing depends on who reads: the policy ends no generation without readers and paces none, or it has ended. */
export function presentReader(
  cache: GenerationCache,
  position: Pick<Position, "takenSeq">,
): PresentReader | undefined {
  const { policy, ended } = cache;
  const isAsked = policy !== undefined && (policy.on_disconnect !== "keep" || policy.pace !== undefined);
  return isAsked && !ended ? { cache, position } : undefined;
}
