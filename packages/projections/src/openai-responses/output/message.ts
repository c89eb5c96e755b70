import type { KnownEvent, TokenLogprobs } from "@reprise/protocol";
import { Growing } from "../../growing.ts";
import { TextPlaces } from "../../text-places.ts";
import type { Annotation, ItemStatus, Logprob, MessageItem, Part, Step } from "./items.ts";

/** Text that grows. */
interface OpenText {
  readonly type: "output_text";
  readonly text: string;
  readonly places: TextPlaces;
  readonly annotations: Growing<Annotation>;
  readonly logprobs: Growing<Logprob>;
}
interface OpenRefusal {
  readonly type: "refusal";
  readonly refusal: string;
}

/** A message that the model still says. Its last part grows. */
export interface OpenMessage {
  readonly type: "message";
  readonly id: string;
  readonly index: number;
  readonly parts: readonly Part[];
  readonly part: OpenText | OpenRefusal;
}

type PartType = Part["type"];
type Delta = Extract<KnownEvent, { type: "output.delta" }>;
type AnnotationEvent = Extract<KnownEvent, { type: "output.annotation" }>;

const NO_TEXT: OpenText = {
  type: "output_text",
  text: "",
  places: new TextPlaces(),
  annotations: new Growing(),
  logprobs: new Growing(),
};
const NO_REFUSAL: OpenRefusal = { type: "refusal", refusal: "" };

export function openMessage(id: string, index: number, type: PartType): [OpenMessage, ...Step[]] {
  const message: OpenMessage = { type: "message", id, index, parts: [], part: emptyPart(type) };
  const item = { id, type: "message", status: "in_progress", role: "assistant", content: [] };
  return [message, { type: "response.output_item.added", output_index: index, item }, partAdded(message)];
}

/** Continues with a part of a type. */
export function turnTo(message: OpenMessage, type: PartType): [OpenMessage, ...Step[]] {
  if (message.part.type === type) return [message];
  const next = { ...message, parts: [...message.parts, toPart(message.part)], part: emptyPart(type) };
  return [next, ...partDone(message), partAdded(next)];
}

export function addText(message: OpenMessage, { seq, text, logprobs }: Delta): [OpenMessage, ...Step[]] {
  const part = message.part as OpenText;
  const said = toLogprobs(logprobs);
  const next: OpenText = {
    ...part,
    text: part.text + text,
    places: part.places.with(seq, text),
    logprobs: said.reduce((all, one) => all.with(one), part.logprobs),
  };
  const step = { type: "response.output_text.delta", ...placeOf(message), delta: text, logprobs: said };
  return [{ ...message, part: next }, step];
}

export function addRefusal(message: OpenMessage, text: string): [OpenMessage, ...Step[]] {
  const { refusal } = message.part as OpenRefusal;
  const step = { type: "response.refusal.delta", ...placeOf(message), delta: text };
  return [{ ...message, part: { type: "refusal", refusal: refusal + text } }, step];
}

export function annotate(message: OpenMessage, event: AnnotationEvent): [OpenMessage, ...Step[]] {
  const part = message.part as OpenText;
  const annotation = toAnnotation(event, part.places);
  const step = {
    type: "response.output_text.annotation.added",
    ...placeOf(message),
    annotation_index: part.annotations.length,
    annotation,
  };
  return [{ ...message, part: { ...part, annotations: part.annotations.with(annotation) } }, step];
}

export function closeMessage(message: OpenMessage, status: ItemStatus): [MessageItem, ...Step[]] {
  const item = toMessageItem(message, status);
  return [
    item,
    ...partDone(message),
    { type: "response.output_item.done", output_index: message.index, item },
  ];
}

export function toMessageItem({ id, parts, part }: OpenMessage, status: ItemStatus): MessageItem {
  return { id, type: "message", status, role: "assistant", content: [...parts, toPart(part)] };
}

function partAdded(message: OpenMessage): Step {
  return { type: "response.content_part.added", ...placeOf(message), part: toPart(message.part) };
}

function partDone(message: OpenMessage): Step[] {
  const part = toPart(message.part);
  const said =
    part.type === "refusal"
      ? { type: "response.refusal.done", ...placeOf(message), refusal: part.refusal }
      : { type: "response.output_text.done", ...placeOf(message), text: part.text, logprobs: part.logprobs };
  return [said, { type: "response.content_part.done", ...placeOf(message), part }];
}

function placeOf({ id, index, parts }: OpenMessage): {
  item_id: string;
  output_index: number;
  content_index: number;
} {
  return { item_id: id, output_index: index, content_index: parts.length };
}

function emptyPart(type: PartType): OpenMessage["part"] {
  return type === "refusal" ? NO_REFUSAL : NO_TEXT;
}

function toPart(part: OpenMessage["part"]): Part {
  if (part.type === "refusal") return { type: "refusal", refusal: part.refusal };
  const { text, annotations, logprobs } = part;
  return { type: "output_text", text, annotations: annotations.toArray(), logprobs: logprobs.toArray() };
}

/** Without those whose word is not told: a number alone has no place there. */
function toLogprobs(logprobs: TokenLogprobs | undefined): Logprob[] {
  return (logprobs ?? []).flatMap(({ top, ...one }) => {
    const [said] = toTokens([one]);
    return said ? [{ ...said, top_logprobs: toTokens(top ?? []) }] : [];
  });
}

const UTF8 = new TextEncoder();

function toTokens(tokens: TokenLogprobs): { token: string; logprob: number; bytes: number[] }[] {
  return tokens.flatMap(({ token, logprob, bytes }) =>
    token === undefined ? [] : [{ token, logprob, bytes: bytes ?? [...UTF8.encode(token)] }],
  );
}

function toAnnotation(event: AnnotationEvent, places: TextPlaces): Annotation {
  const { kind, url = "", title = "", file = "", name = "" } = event;
  const [start_index, end_index] = places.rangeOf(event);
  if (kind === "url") return { type: "url_citation", url, title, start_index, end_index };
  return { type: "file_citation", file_id: file, filename: name || title, index: end_index };
}
