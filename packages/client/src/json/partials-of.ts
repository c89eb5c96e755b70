import { type JsonValue, PartialJson } from "@reprise/protocol/wire";
import type { GenerationStream } from "../stream/generation-stream.ts";
import type { StreamEvent } from "../transcript/stream-event.ts";

export interface PartialValue<T> {
  /**
   * The value as far as it is certain: valid JSON at every moment. One tree that grows in place, and another one where text was taken back:
   * `structuredClone` keeps a moment of it.
   */
  readonly value: DeepPartial<T>;
  /** True if no part is missing. The stream's outcome says if the value fits its schema. */
  readonly isComplete: boolean;
}

/**
 * The value that a generation with `response_format` writes, as it grows: once for each event that may have changed it, and not before it
 * has begun. What readers are to be shown counts, so a rewind or moderation may take something of it back. Iterates the stream, which has to
 * begin at the generation's begin; its cursor, its outcome and its `text` stay with it.
 * @throws what the stream throws. A text that is no JSON is no error here: the value stays as it was, `objectOf` tells.
 */
export async function* partialsOf<T = JsonValue>(
  stream: GenerationStream,
): AsyncGenerator<PartialValue<T>, void, undefined> {
  const parser = new PartialJson();
  const current = (): PartialValue<T> => ({
    value: parser.value as DeepPartial<T>,
    isComplete: parser.isComplete,
  });
  for await (const event of stream) {
    if (follow(parser, event, stream) && parser.value !== undefined) yield current();
  }
  const wasComplete = parser.isComplete;
  parser.finish();
  if (parser.isComplete && !wasComplete) yield current();
}

/** @returns whether the event may have changed the value */
function follow(parser: PartialJson, event: StreamEvent, stream: GenerationStream): boolean {
  switch (event.type) {
    case "output.delta":
      if (!event.output) parser.push(event.text);
      return !event.output;
    case "tool.call":
    case "output.rewind":
    case "moderation.redacted":
    case "moderation.halted":
      parser.reset();
      parser.push(stream.answer);
      return true;
    default:
      return false;
  }
}

/** A value that is still being written: fields and items may be missing, texts may grow. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? DeepPartial<Item>[]
  : T extends object
    ? { [Name in keyof T]?: DeepPartial<T[Name]> }
    : T;
