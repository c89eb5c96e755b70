import { type GenerationRequest, isMediaPart, type MediaPart, partsOf, textsOf } from "@reprise/protocol";

/** Of UTF-8, as tokenizers have it of English text; for others it is too low or too high by a factor of two. */
const BYTES_PER_TOKEN = 4;

/** An image of about a megapixel, and one that the model looks at from afar. */
const IMAGE_TOKENS = 1_000;
const LOW_IMAGE_TOKENS = 85;
/** In base64: a second of speech as a compressed file has some 3,000 bytes, and 10 tokens; a page of a document 40,000, and 1,000. */
const AUDIO_CHARS_PER_TOKEN = 400;
const FILE_CHARS_PER_TOKEN = 50;

/** What an input counts in a budget until its engine has said how many tokens it has. */
export function estimateInputTokens({ input }: Pick<GenerationRequest, "input">): number {
  if (typeof input === "string") return Math.ceil(Buffer.byteLength(input) / BYTES_PER_TOKEN);
  const bytes = input.flatMap(textsOf).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  let media = 0;
  for (const { part } of partsOf(input)) if (isMediaPart(part)) media += estimateMedia(part);
  return Math.ceil(bytes / BYTES_PER_TOKEN) + media;
}

function estimateMedia(part: MediaPart): number {
  if (part.type === "image") return part.detail === "low" ? LOW_IMAGE_TOKENS : IMAGE_TOKENS;
  const perToken = part.type === "audio" ? AUDIO_CHARS_PER_TOKEN : FILE_CHARS_PER_TOKEN;
  return Math.ceil((part.url?.length ?? 0) / perToken);
}
