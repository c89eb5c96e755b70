import type { KnownEvent, UnknownEvent } from "./event.ts";
import { decodeUncheckedEvent } from "./event-codec.ts";
import { malformedField } from "./known-event.ts";
import { RepriseError } from "../errors/reprise-error.ts";

/**
 * One event from bytes. The fields of known types have the kinds of values that their types say, except those of the request, which
 * their own schemas check where they are read. Further fields, unknown types and unknown names are as the sender wrote them.
 * @throws RepriseError `protocol_violation` when the bytes are not a JSON object with a `seq` and a `type`, or a field is malformed
 */
export function decodeEvent(payload: Uint8Array | string): KnownEvent | UnknownEvent {
  const event = decodeUncheckedEvent(payload);
  const field = malformedField(event);
  if (field === undefined) return event as KnownEvent | UnknownEvent;
  const message = `Event ${event.seq}, ${event.type}, has no valid ${field}.`;
  throw new RepriseError("protocol_violation", message);
}
