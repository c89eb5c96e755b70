import type { GenerationId, KnownEvent } from "@reprise/protocol";
import type { UiChunk } from "./ui-chunk.ts";

type Said<Type extends KnownEvent["type"]> = Extract<KnownEvent, { type: Type }>;

const ANY_TYPE = "application/octet-stream";
/** Schemes that a page may link to: an engine reports a source's address with any scheme. */
const LINK = /^(https?|mailto):/i;

/** A call whose arguments are no JSON, as a model may write them or moderation may leave them, must not be run: the client is told so. */
export function toCallChunk(event: Said<"tool.call">): UiChunk {
  const { call_id: toolCallId, name: toolName, arguments: text } = event;
  // A function without parameters may be called without arguments. Where moderation has left none, it must not.
  const isBare = text === "" && !("redacted" in event);
  const input = parse(isBare ? "{}" : text);
  if (input !== undefined) return { type: "tool-input-available", toolCallId, toolName, input };
  return {
    type: "tool-input-error",
    toolCallId,
    toolName,
    input: text,
    errorText: "The arguments of the call are not JSON, or were withdrawn.",
  };
}

/** A source that is no link is a document, so that no page makes a link of it. Undefined for a kind of a later version. */
export function toSourceChunk({
  seq,
  kind,
  url,
  title,
  file,
  name,
}: Said<"output.annotation">): UiChunk | undefined {
  const sourceId = `source-${seq}`;
  if (kind !== "url" && kind !== "file") return undefined;
  if (kind === "url" && url !== undefined && LINK.test(url))
    return { type: "source-url", sourceId, url, ...(title !== undefined && { title }) };
  return {
    type: "source-document",
    sourceId,
    mediaType: ANY_TYPE,
    title: title ?? name ?? file ?? "",
    ...(name !== undefined && { filename: name }),
  };
}

/** The path of what the model has made, which the reader's key or token opens; where moderation has withdrawn it a chunk that adds no part. */
export function toBlobChunk(
  { kind, blob, media_type: mediaType = ANY_TYPE }: Said<"output.blob">,
  generation: GenerationId,
): UiChunk {
  if (blob === undefined) return { type: "data-withdrawn", data: { kind }, transient: true };
  return { type: "file", url: `/v1/generations/${generation}/blobs/${blob}`, mediaType };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
