import type { DeliveredRow } from "./generation-row.ts";

/** Tells a generation that was read as a stream from one that was read only as answers in one piece, or not at all. */
export function reachOf({ delivery }: DeliveredRow): "streamed" | "answered" | "unread" {
  if (delivery && delivery.streams > 0) return "streamed";
  return delivery && delivery.answers > 0 ? "answered" : "unread";
}

/** Returns the time from the request until the first output was handed to a reader, in microseconds; null if no reader was there for it. */
export function firstChunkUsOf({ first_us: firstUs, delivery }: DeliveredRow): number | null {
  const { received_us: received = null, held_us: held = null, sent_us: sent = null } = delivery ?? {};
  if (firstUs === null || received === null || held === null || sent === null) return null;
  return firstUs + received + held + sent;
}
