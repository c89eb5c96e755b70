import { decodeEvent, RepriseError, type RequestedEvent } from "@reprise/protocol";

/**
 * The request, out of the oldest event that a log keeps.
 * @throws RepriseError `cursor_expired` when that is a later one
 */
export function toRequested(first: Uint8Array | undefined): RequestedEvent {
  const event = first && decodeEvent(first);
  if (event?.type === "generation.requested") return event;
  throw new RepriseError("cursor_expired", "The beginning of this generation's log is no longer kept.");
}
