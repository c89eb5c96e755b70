import type { AnnotationEvent } from "../../engine.ts";
import { toReferences } from "../response/annotations.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The text of a delta's `content`, which some upstreams send in parts. */
export interface MessageContent {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  /** Annotations of the parts that name sources. */
  readonly annotations: readonly AnnotationEvent[];
  /** True if there are parts of other types. */
  readonly hasOthers: boolean;
}

export function plainText(text: string): MessageContent {
  return { text, reasoning: "", refusal: "", annotations: [], hasOthers: false };
}

/**
 * Joins the parts of a `content` that is a list, as Mistral's reasoning models send it: `{type: "text", text}`, `{type: "thinking", thinking}` with a text
 * or a list of its own, `{type: "refusal", refusal}`, `{type: "reference", reference_ids}`, or texts. A single part may come without its list.
 */
export function joinParts(content: object): MessageContent {
  const joined = { text: "", reasoning: "", refusal: "", hasOthers: false };
  const annotations: AnnotationEvent[] = [];
  for (const part of Array.isArray(content) ? (content as unknown[]) : [content]) {
    const references = typeof part === "object" && part !== null ? toReferences(part as Fields) : undefined;
    if (references) {
      annotations.push(...references);
      continue;
    }
    const { kind, text } = readPart(part);
    if (text === undefined) joined.hasOthers = true;
    else joined[kind] += text;
  }
  return { ...joined, annotations };
}

interface Part {
  readonly kind: "text" | "reasoning" | "refusal";
  /** Undefined for a part that is no text. */
  readonly text: string | undefined;
}

function readPart(part: unknown): Part {
  if (typeof part === "string") return { kind: "text", text: part };
  if (typeof part !== "object" || part === null) return { kind: "text", text: undefined };
  const { type = "text", text, thinking, reasoning, summary, refusal } = part as Record<string, unknown>;
  switch (type) {
    case "text":
    case "output_text":
      return { kind: "text", text: textIn(text) };
    case "thinking":
    case "reasoning":
      return { kind: "reasoning", text: textIn(thinking ?? reasoning ?? text ?? summary) };
    case "refusal":
      return { kind: "refusal", text: textIn(refusal ?? text) };
    default:
      return { kind: "text", text: typeof text === "string" ? text : undefined };
  }
}

function textIn(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? joinParts(value).text : undefined;
}
