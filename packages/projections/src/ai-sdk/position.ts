import { RepriseError } from "@reprise/protocol";

/** 15 digits are exact in every JSON parser. */
const WHOLE = /^-?(0|[1-9][0-9]{0,14})$/;

/**
 * Which chunk a reader wants first: its index in the stream, `[DONE]` not counted. Below 0 it counts from the end of what there is.
 * @param value the query parameter `startIndex`; absent: 0
 * @throws RepriseError `invalid_request`
 */
export function parseStartIndex(value: string | undefined): number {
  if (value === undefined) return 0;
  if (WHOLE.test(value)) return Number(value);
  throw new RepriseError("invalid_request", "startIndex: must be a whole number of at most 15 digits.", {
    param: "startIndex",
  });
}

/**
 * The frame that a reader is sent first.
 * @param tailIndex that of the last chunk there is, by `tailIndexOf`
 */
export function toFirstFrame(startIndex: number, tailIndex: number): number {
  return startIndex >= 0 ? startIndex : Math.max(0, tailIndex + 1 + startIndex);
}

/**
 * The index of the last chunk there is, which `x-workflow-stream-tail-index` says; -1 while there is none.
 * @param hasEnded whether the last frame is `[DONE]`
 */
export function tailIndexOf(frames: number, hasEnded: boolean): number {
  return frames - (hasEnded ? 2 : 1);
}
