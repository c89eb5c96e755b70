import { decodeEvent, type KnownEvent, asSeq } from "@reprise/protocol";
import type { GenerationCache } from "../hub/cache/generation-cache.ts";
import { plainFraming } from "./plain-framing.ts";

/** The events that a cache shows a reader that comes now, and reads from its memory. */
export function shownEvents(cache: GenerationCache): KnownEvent[] {
  const events: KnownEvent[] = [];
  for (let seq = 1; ;) {
    const view = cache.shown.view(asSeq(seq), 0);
    if (!view) return events;
    events.push(decodeEvent(plainFraming.payloadOf(view.bytes)) as KnownEvent);
    seq = view.next;
  }
}

/** Their texts, joined. */
export function shownText(cache: GenerationCache): string {
  return shownEvents(cache)
    .map((event) => (event.type === "output.delta" ? event.text : ""))
    .join("");
}
