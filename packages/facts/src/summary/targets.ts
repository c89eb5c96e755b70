import { STALL_US } from "../fold/generation-fold.ts";
import type { GenerationRow } from "../rows/generation-row.ts";
import type { Sketch } from "../sketch/sketch.ts";

/** The limits that a generation has to meet to count as good. In microseconds. */
export interface Targets {
  /** From the request to the first output. */
  readonly firstUs: number;
  /** Between two deltas, of which 99 in 100 are to be as short; Infinity: no target. */
  readonly gapUs: number;
  /** From the request to the end; Infinity: no target. */
  readonly totalUs: number;
}

/** One second to the first output, and no stall. */
export const DEFAULT_TARGETS: Targets = { firstUs: 1_000_000, gapUs: STALL_US, totalUs: Infinity };

const GAP_QUANTILE = 0.99;

/** True if a generation counts for goodput: one that a caller has cancelled says nothing about the platform. */
export function isJudged({ status }: GenerationRow): boolean {
  return status !== "cancelled";
}

/**
 * True if a generation has completed, and met all targets.
 * @param longestGapUs of the row's gaps
 * @param decodeGaps called if the longest one does not decide, which is seldom
 */
export function meetsTargets(
  row: GenerationRow,
  longestGapUs: number,
  decodeGaps: () => Sketch,
  { firstUs, gapUs, totalUs }: Targets,
): boolean {
  if (row.status !== "completed" || row.total_us > totalUs) return false;
  // Without output the end is the first event that a reader sees.
  if ((row.first_us ?? row.total_us) > firstUs) return false;
  return longestGapUs <= gapUs || (decodeGaps().quantile(GAP_QUANTILE) ?? 0) <= gapUs;
}
