import type { GenerationCache } from "@reprise/stream";
import { asSeq } from "@reprise/protocol";

const VIEW_BYTES = 64 * 1_024;

/** Numbered frames, of which the newest are in memory. */
interface KeptFrames {
  /** The oldest that is in memory, and the newest. */
  readonly first: number;
  readonly last: number;
  view(from: number, maxBytes: number): { readonly bytes: Buffer; readonly next: number } | undefined;
}

/** Returns the bytes of frames that a new reader has yet to get. Frames that are no longer in memory count as large as the others on average. */
export function replayBytes(frames: KeptFrames, from: number): number {
  const { first, last } = frames;
  const keptFrom = Math.max(from, first);
  const kept = bytesFrom(frames, keptFrom);
  const missing = Math.min(keptFrom, last + 1) - from;
  if (missing <= 0) return kept;
  return kept + Math.ceil((missing * bytesFrom(frames, first)) / Math.max(1, last - first + 1));
}

/** The native frames of a generation, as far as readers may be sent them. */
export function shownFrames({ shown }: GenerationCache): KeptFrames {
  return {
    first: shown.frames.firstSeq,
    last: shown.shownSeq,
    view: (from, maxBytes) => shown.view(asSeq(from), maxBytes),
  };
}

function bytesFrom(frames: KeptFrames, from: number): number {
  let bytes = 0;
  for (let view = frames.view(from, VIEW_BYTES); view; view = frames.view(view.next, VIEW_BYTES))
    bytes += view.bytes.length;
  return bytes;
}
