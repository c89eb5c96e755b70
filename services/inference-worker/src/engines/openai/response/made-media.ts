import { parseDataUrl } from "@reprise/protocol";
import type { MediaPieceEvent } from "../../engine.ts";

/** The media in a chunk. */
export interface MadeMedia {
  readonly pieces: readonly MediaPieceEvent[];
  /** The words of what it speaks. */
  readonly transcript: string;
  /** True if it has images that are only linked, or parts that are no images. */
  readonly hasOtherImages: boolean;
}

const NOTHING: MadeMedia = { pieces: [], transcript: "", hasOtherImages: false };

/** By OpenAI's names of formats. */
const AUDIO_TYPES: Readonly<Record<string, string>> = {
  wav: "audio/wav",
  mp3: "audio/mpeg",
  flac: "audio/flac",
  opus: "audio/ogg",
  aac: "audio/aac",
  pcm16: "audio/pcm",
};

/** Samples without a header. */
const UNKNOWN_AUDIO = "audio/pcm";

/** The media type of what a request's option `audio` asks for. */
export function audioTypeOf(audio: unknown): string {
  const { format } = fieldsOf(audio);
  return AUDIO_TYPES[typeof format === "string" ? format : ""] ?? UNKNOWN_AUDIO;
}

/**
 * A delta's `audio`, `{data, transcript}`, whose data comes in pieces, each base64 by itself, and its `images`, each `{image_url: {url}}` with a data
 * URL. An address elsewhere is no content: it may be gone when a reader comes.
 */
export function toMadeMedia(audio: unknown, images: unknown, audioType = UNKNOWN_AUDIO): MadeMedia {
  if (!audio && !images) return NOTHING;
  const { data, transcript } = fieldsOf(audio);
  const pieces: MediaPieceEvent[] = [];
  const listed: readonly unknown[] = Array.isArray(images) ? images : [];
  for (const one of listed) {
    const { url } = fieldsOf(fieldsOf(one)["image_url"]);
    const media = typeof url === "string" ? parseDataUrl(url) : undefined;
    if (!media) continue;
    const bytes = Buffer.from(media.base64, "base64");
    pieces.push({ type: "media", kind: "image", mediaType: media.mediaType, bytes, isLast: true });
  }
  const hasOtherImages = pieces.length < listed.length;
  if (typeof data === "string" && data !== "") {
    const bytes = Buffer.from(data, "base64");
    pieces.push({ type: "media", kind: "audio", mediaType: audioType, bytes, isLast: false });
  }
  return { pieces, transcript: typeof transcript === "string" ? transcript : "", hasOtherImages };
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
