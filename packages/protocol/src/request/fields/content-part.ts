import * as z from "zod";
import { BLOB_ID } from "../../blob/blob-id.ts";
import { LIMITS } from "./limits.ts";

/** Base64 with its media type, without parameters: engines are given both apart. */
const DATA_URL = /^data:([a-z]+\/[a-z0-9][a-z0-9.+-]*);base64,([A-Za-z0-9+/]+={0,2})$/;
const HTTPS_URL = /^https:\/\/[^\s]+$/;

/** Where the bytes of a part are. One of the two. */
const media = {
  /** `data:<type>;base64,…`, or `https://…`. */
  url: z
    .string()
    .refine((url) => isDataUrl(url) || HTTPS_URL.test(url), {
      error: "must be data:<media type>;base64,<bytes>, or an https URL",
    })
    .optional(),
  blob: z.string().regex(BLOB_ID, { error: "must be a blob's id" }).optional(),
};

/** Refuses a part with both places, or with neither, or whose data URL is of another kind. */
function isPlaced(kind: string | undefined) {
  return ({ url, blob }: { url?: string | undefined; blob?: string | undefined }) => {
    if ((url === undefined) === (blob === undefined)) return false;
    const type = url === undefined ? undefined : mediaTypeOf(url);
    return kind === undefined || type === undefined || type.startsWith(`${kind}/`);
  };
}

const textPart = z.strictObject({ type: z.literal("text"), text: z.string() });

/** A model's refusal, in place of an answer. */
const refusalPart = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

const imagePart = z
  .strictObject({
    type: z.literal("image"),
    ...media,
    /** Resolution at which the model sees the image. Default: the engine's. */
    detail: z.enum(["auto", "low", "high"]).optional(),
  })
  .refine(isPlaced("image"), { error: "must have one of url and blob, and a data URL must be of image/…" });

const audioPart = z
  .strictObject({ type: z.literal("audio"), ...media })
  .refine(isPlaced("audio"), { error: "must have one of url and blob, and a data URL must be of audio/…" });

const filePart = z
  .strictObject({
    type: z.literal("file"),
    ...media,
    name: z.string().min(1).max(LIMITS.fileNameLength).optional(),
  })
  .refine(isPlaced(undefined), { error: "must have one of url and blob" });

const PART_ERROR = "must be a part {type: text | image | audio | file, …}";

export const userPartSchema = z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart], {
  error: PART_ERROR,
});
export const textPartSchema = textPart;
export const assistantPartSchema = z.discriminatedUnion("type", [textPart, refusalPart], {
  error: "must be a part {type: text | refusal, …}",
});

export type TextPart = z.infer<typeof textPart>;
export type RefusalPart = z.infer<typeof refusalPart>;
export type ImagePart = z.infer<typeof imagePart>;
export type AudioPart = z.infer<typeof audioPart>;
export type FilePart = z.infer<typeof filePart>;
export type MediaPart = ImagePart | AudioPart | FilePart;
/** A tool's answer, if it is not a JSON value. */
export type ToolContent = (TextPart | MediaPart)[];
export type ContentPart = TextPart | RefusalPart | MediaPart;

export function isMediaPart(part: ContentPart): part is MediaPart {
  return part.type === "image" || part.type === "audio" || part.type === "file";
}

/** Returns the reference of a part without bytes: a blob's id, or an https URL. Undefined if it has its bytes. */
export function referenceOf({ blob, url }: MediaPart): string | undefined {
  return blob ?? (url?.startsWith("data:") ? undefined : url);
}

/** The bytes of a data URL, and what they are. */
export interface InlineMedia {
  /** Such as `image/png`. */
  readonly mediaType: string;
  readonly base64: string;
}

/** Undefined for a URL that is no data URL. */
export function parseDataUrl(url: string): InlineMedia | undefined {
  const mediaType = mediaTypeOf(url);
  return mediaType === undefined ? undefined : { mediaType, base64: url.slice(url.indexOf(",") + 1) };
}

function isDataUrl(url: string): boolean {
  return DATA_URL.test(url) && (url.length - url.indexOf(",") - 1) % 4 === 0;
}

/** Without a copy of the bytes. */
function mediaTypeOf(url: string): string | undefined {
  const end = url.startsWith("data:") ? url.indexOf(";base64,") : -1;
  return end === -1 ? undefined : url.slice("data:".length, end);
}
