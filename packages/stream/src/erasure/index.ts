/* Ends a generation and removes it from every stream: what the audit log erases with, as one name of the package, `logErasure`. */

export { clearTextIntervals, readTextIntervals } from "./text-interval.ts";
export { type FilledStream, fillStream, purgeFiller, streamsWithTextOf } from "./fill-stream.ts";
export { moveCheckpoints } from "./move-checkpoints.ts";
export {
  closeGeneration,
  type ClosedGeneration,
  endGeneration,
  isPurged,
  purgeGeneration,
  type StreamRanges,
} from "./purge-generation.ts";
