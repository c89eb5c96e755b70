import type { EventDraft, Seq } from "@reprise/protocol";
import type { AnnotationEvent } from "../engines/engine.ts";

/** The text of one event of a turn. */
interface TurnText {
  readonly seq: Seq;
  readonly text: string;
}

/**
 * An engine's annotations as events. The engine counts code points of its message; a log has events, and UTF-16 code units in the text of these. A
 * range that does not lie in the text is left out, and the annotation is of the text as a whole.
 * @param texts of the turn, event by event; empty where the engine may count from another place than the turn's beginning
 */
export function toAnnotationDrafts(
  annotations: readonly AnnotationEvent[],
  texts: readonly TurnText[],
): EventDraft[] {
  const placeOf = createPlaces(texts);
  return annotations.map(({ type: _type, from, to, ...said }) => {
    const range = from === undefined || to === undefined ? undefined : placeOf(from, to);
    return { type: "output.annotation", ...said, ...range };
  });
}

type Range = Pick<
  Extract<EventDraft, { type: "output.annotation" }>,
  "from_seq" | "to_seq" | "from_offset" | "to_offset"
>;

function createPlaces(texts: readonly TurnText[]): (from: number, to: number) => Range | undefined {
  const whole = texts.map(({ text }) => text).join("");
  /** Where each code point begins, and the end; made once one is asked for. */
  let starts: number[] | undefined;
  const begins: number[] = [];
  let length = 0;
  for (const { text } of texts) {
    begins.push(length);
    length += text.length;
  }
  return (from, to) => {
    starts ??= startsOf(whole);
    const [begin, end] = [starts[from], starts[to]];
    if (begin === undefined || end === undefined || begin >= end) return undefined;
    const first = begins.findLastIndex((at) => at <= begin);
    const last = begins.findLastIndex((at) => at < end);
    const [fromText, toText] = [texts[first], texts[last]];
    const base = begins[first];
    if (!fromText || !toText || base === undefined) return undefined;
    return { from_seq: fromText.seq, to_seq: toText.seq, from_offset: begin - base, to_offset: end - base };
  };
}

function startsOf(text: string): number[] {
  const starts: number[] = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  return [...starts, at];
}
