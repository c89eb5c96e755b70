import { isMediaPart, type MediaPart, referenceOf } from "./fields/content-part.ts";
import { partsOf, textsOf } from "./fields/input.ts";
import type { MediaMap } from "./media.ts";
import { bytesPerSecond } from "./fields/input-format.ts";
import type { GenerationRequest } from "./request.ts";

const encoder = /* @__PURE__ */ new TextEncoder();

/** UTF-8 bytes of a token, typical for English text; for others it is too low or too high by a factor of two. */
const BYTES_PER_TOKEN = 4;

/** An image of about a megapixel, and one that the model looks at from afar. */
const IMAGE_TOKENS = 1_000;
const LOW_IMAGE_TOKENS = 85;
/** In base64: a second of speech as a compressed file has some 3,000 bytes, and 10 tokens; a page of a document 40,000, and 1,000. */
const AUDIO_CHARS_PER_TOKEN = 400;
const FILE_CHARS_PER_TOKEN = 50;
const CHARS_PER_BYTE = 4 / 3;
const TOKENS_PER_SECOND = 10;

/**
 * Estimates the tokens of an input until its engine has counted them.
 * @param media what its parts name
 * @param streamedBytes of streamed input, as far as it was consumed
 */
export function estimateInputTokens(
  { input, input_stream: stream }: Pick<GenerationRequest, "input" | "input_stream">,
  media: MediaMap = {},
  streamedBytes = 0,
): number {
  if (stream) {
    const perSecond = bytesPerSecond(stream.format);
    const perToken = perSecond === undefined ? BYTES_PER_TOKEN : perSecond / TOKENS_PER_SECOND;
    return Math.ceil(streamedBytes / perToken);
  }
  if (typeof input === "string") return Math.ceil(bytesOf(input) / BYTES_PER_TOKEN);
  const bytes = input.flatMap(textsOf).reduce((sum, text) => sum + bytesOf(text), 0);
  let tokens = Math.ceil(bytes / BYTES_PER_TOKEN);
  for (const { part } of partsOf(input)) if (isMediaPart(part)) tokens += estimateMedia(part, media);
  return tokens;
}

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

function estimateMedia(part: MediaPart, media: MediaMap): number {
  if (part.type === "image") return part.detail === "low" ? LOW_IMAGE_TOKENS : IMAGE_TOKENS;
  const perToken = part.type === "audio" ? AUDIO_CHARS_PER_TOKEN : FILE_CHARS_PER_TOKEN;
  const reference = referenceOf(part);
  const chars =
    reference === undefined ? (part.url?.length ?? 0) : (media[reference]?.bytes ?? 0) * CHARS_PER_BYTE;
  return Math.ceil(chars / perToken);
}
