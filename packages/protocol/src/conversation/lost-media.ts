import {
  type ContentPart,
  isMediaPart,
  type MediaPart,
  referenceOf,
} from "../request/fields/content-part.ts";
import { type Message, partsOf } from "../request/fields/input.ts";
import type { PromptSegment } from "../event/shapes/prompt.ts";

/** Text that a model is given in place of content that is no longer kept. */
const NOTES: Readonly<Record<MediaPart["type"], string>> = {
  image: "[An image that was here is no longer available.]",
  audio: "[A sound that was here is no longer available.]",
  file: "[A file that was here is no longer available.]",
};

/** The blobs that a turn's parts name, each once. */
export function blobsIn({ items }: Pick<PromptSegment, "items">): ReadonlySet<string> {
  return new Set(usesIn(partsOf(items)));
}

/** Yields the references of parts, each as often as it is named. */
export function* usesIn(parts: ReturnType<typeof partsOf>): Generator<string> {
  for (const { part } of parts) {
    const reference = isMediaPart(part) ? referenceOf(part) : undefined;
    if (reference !== undefined) yield reference;
  }
}

/** Returns true if a blob that a message of this role names no longer exists. */
export type IsGone = (blob: string, role: Message["role"]) => boolean;

/** A turn with a note in the place of each part whose blob is gone; the same where none is. */
export function withoutMedia<Segment extends Pick<PromptSegment, "items">>(
  segment: Segment,
  isGone: IsGone,
): Segment {
  const items = segment.items.map((message) => withNotes(message, isGone));
  return items.every((message, i) => message === segment.items[i]) ? segment : { ...segment, items };
}

function withNotes(message: Message, isGone: IsGone): Message {
  if (message.role !== "user" && message.role !== "tool") return message;
  const { content, role } = message;
  if (content === undefined || typeof content === "string") return message;
  const said = content.map((part) => noteOf(part, (blob) => isGone(blob, role)));
  return said.every((part, i) => part === content[i]) ? message : { ...message, content: said };
}

function noteOf<Part extends ContentPart>(
  part: Part,
  isGone: (blob: string) => boolean,
): Part | { type: "text"; text: string } {
  const reference = isMediaPart(part) ? referenceOf(part) : undefined;
  if (!isMediaPart(part) || reference === undefined || !isGone(reference)) return part;
  return { type: "text", text: NOTES[part.type] };
}
