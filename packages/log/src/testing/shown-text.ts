import { decodeEvent, type KnownEvent } from "@reprise/protocol";
import type { Tail } from "../tail.ts";
import { plainFraming } from "./plain-framing.ts";

/** The events that a tail shows a reader who comes now, and reads from its memory. */
export function shownEvents(tail: Tail): KnownEvent[] {
  const events: KnownEvent[] = [];
  for (let seq = 1; ;) {
    const view = tail.view(seq, 0);
    if (!view) return events;
    events.push(decodeEvent(plainFraming.payloadOf(view.bytes)) as KnownEvent);
    seq = view.next;
  }
}

/** Their texts, joined. */
export function shownText(tail: Tail): string {
  return shownEvents(tail)
    .map((event) => (event.type === "output.delta" ? event.text : ""))
    .join("");
}
