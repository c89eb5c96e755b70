import { channelOf, decodeEvent, isDelta, isKnownEvent, type Seq } from "@reprise/protocol";

/** A part of the text that counts after a rewind. */
export interface KeptText {
  readonly seq: Seq;
  readonly channel: string;
  readonly text: string;
}

/**
 * Returns the texts of a log that count before a rewind that ends it.
 * @param events from the beginning up to the rewind, which may be among them
 */
export function keptTexts(events: readonly Uint8Array[], rewindSeq: Seq): KeptText[] {
  let kept: KeptText[] = [];
  for (const payload of events) {
    const event = decodeEvent(payload);
    if (event.seq > rewindSeq) break;
    if (event.type === "output.rewind") kept = kept.filter(({ seq }) => seq <= event.to_seq);
    // A call's arguments are a text of their own: no text continues them.
    if (isKnownEvent(event) && isDelta(event))
      kept.push({ seq: event.seq, channel: channelOf(event), text: event.text });
  }
  return kept;
}
