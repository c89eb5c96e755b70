import { type KnownEvent, textIn, type UnknownEvent, Withdrawals } from "@reprise/protocol";
import type { ReviewEvent } from "./review.ts";

/** Text shown to a reviewer. */
export interface ReviewPassage {
  /** The text of the range as it was produced, withdrawn or not. */
  readonly text: string;
  /** Text before and after the range, shown or not yet, without the parts withdrawn or rewound there. */
  readonly before: string;
  readonly after: string;
}

const CONTEXT_CHARS = 200;

/** @param events the whole log, in order */
export function passageOf(
  events: readonly (KnownEvent | UnknownEvent)[],
  { from_seq, to_seq, channel = "0" }: Pick<ReviewEvent, "from_seq" | "to_seq" | "channel">,
): ReviewPassage {
  const withdrawals = new Withdrawals();
  let inside: (KnownEvent | UnknownEvent)[] = [];
  let around: (KnownEvent | UnknownEvent)[] = [];
  for (const event of events) {
    withdrawals.apply(event);
    if (event.type === "output.rewind") {
      around = around.filter(({ seq }) => seq <= event.to_seq);
      // A rewind within the range cuts the text that the rest of the range follows. A later rewind cuts the range itself, which is under review.
      if (event.seq <= to_seq) inside = inside.filter(({ seq }) => seq <= event.to_seq);
    } else if (textIn(event, channel) === undefined) continue;
    else if (event.seq >= from_seq && event.seq <= to_seq) inside.push(event);
    else around.push(event);
  }
  const textOf = (event: KnownEvent | UnknownEvent) => textIn(event, channel) ?? "";
  const shown = (part: typeof around) =>
    part.map((event) => withdrawals.replacementOf(event.seq, channel) ?? textOf(event)).join("");
  return {
    text: inside.map(textOf).join(""),
    before: lastChars(shown(around.filter(({ seq }) => seq < from_seq))),
    after: firstChars(shown(around.filter(({ seq }) => seq > to_seq))),
  };
}

/** Neither leaves half of a character at its cut. */
function lastChars(text: string): string {
  return text.slice(-CONTEXT_CHARS).replace(/^[\uDC00-\uDFFF]/, "");
}

function firstChars(text: string): string {
  return text.slice(0, CONTEXT_CHARS).replace(/[\uD800-\uDBFF]$/, "");
}
