import type { GenerationLog } from "@reprise/stream";
import {
  decodeEvent,
  generationNotFound,
  type GenerationRef,
  RepriseError,
  type RequestedEvent,
} from "@reprise/protocol";

/**
 * The request, out of the oldest event that a log keeps.
 * @throws RepriseError `cursor_expired` when that is a later one
 */
export function toRequested(first: Uint8Array | undefined): RequestedEvent {
  const event = first && decodeEvent(first);
  if (event?.type === "generation.requested") return event;
  throw new RepriseError("cursor_expired", "The beginning of this generation's log is no longer kept.");
}

/** @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable` */
export async function readRequested(
  { reader }: Pick<GenerationLog, "reader">,
  ref: GenerationRef,
): Promise<RequestedEvent> {
  const first = await reader.readFirst(ref);
  if (!first) throw generationNotFound();
  return toRequested(first.payload);
}
