import { decodeEvent, encodeCursor, Transcript } from "@reprise/protocol";

/** The cursor of each event of a log, or of its beginning, in the order of the log. */
export function cursorsOf(payloads: readonly string[]): string[] {
  const transcript = new Transcript();
  return payloads.map((payload) => {
    transcript.apply(decodeEvent(payload));
    return encodeCursor(transcript.cursor);
  });
}
