import { type ContentPart, isBlobId, LIMITS, type MediaPart } from "@reprise/protocol";
import * as z from "zod";

/** A hint of where a cache may cut: it changes no answer. */
const cacheBreakpoint = { prompt_cache_breakpoint: z.unknown().optional() };

const textPart = z.strictObject({ type: z.literal("text"), text: z.string(), ...cacheBreakpoint });

const imagePart = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.strictObject({ url: z.string(), detail: z.enum(["auto", "low", "high"]).optional() }),
  ...cacheBreakpoint,
});

const AUDIO_TYPES = { wav: "audio/wav", mp3: "audio/mpeg" } as const;

const audioPart = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({ data: z.string(), format: z.enum(["wav", "mp3"]) }),
  ...cacheBreakpoint,
});

const filePart = z.strictObject({
  type: z.literal("file"),
  file: z.strictObject({
    file_data: z.string().optional(),
    file_id: z.string().refine(isBlobId, { error: "must be the id of a blob" }).optional(),
    filename: z.string().optional(),
  }),
  ...cacheBreakpoint,
});

const refusalPart = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

const PARTS_ERROR = "must be a part {type: text | image_url | input_audio | file, …}";

/** A text, or parts of which each is of text. */
export const textContentSchema = z.union([z.string(), z.array(textPart).min(1).max(LIMITS.parts)], {
  error: `must be a text, or 1 to ${LIMITS.parts} parts {type: text, text}`,
});

export const userContentSchema = z.union(
  [
    z.string(),
    z
      .array(z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart], { error: PARTS_ERROR }))
      .min(1)
      .max(LIMITS.parts),
  ],
  { error: `must be a text, or 1 to ${LIMITS.parts} parts {type: text | image_url | input_audio | file, …}` },
);

export const assistantContentSchema = z.union(
  [
    z.string(),
    z
      .array(z.discriminatedUnion("type", [textPart, refusalPart]))
      .min(1)
      .max(LIMITS.parts),
  ],
  { error: `must be a text, or 1 to ${LIMITS.parts} parts {type: text | refusal, …}` },
);

type UserPart = Exclude<z.infer<typeof userContentSchema>, string>[number];
type TextOrRefusal = Exclude<z.infer<typeof assistantContentSchema>, string>[number];
type NativeUserPart = Exclude<ContentPart, { type: "refusal" }>;

export function toTextContent(
  content: z.infer<typeof textContentSchema>,
): string | Extract<ContentPart, { type: "text" }>[] {
  return typeof content === "string" ? content : content.map(({ text }) => ({ type: "text", text }));
}

export function toUserContent(content: z.infer<typeof userContentSchema>): string | NativeUserPart[] {
  return typeof content === "string" ? content : content.map(toUserPart);
}

export function toAssistantPart(part: TextOrRefusal): Extract<ContentPart, { type: "text" | "refusal" }> {
  return part.type === "text"
    ? { type: "text", text: part.text }
    : { type: "refusal", refusal: part.refusal };
}

/** Where the bytes are is checked by the native request. */
function toUserPart(part: UserPart): NativeUserPart {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image_url": {
      const { url, detail } = part.image_url;
      return { type: "image", ...toPlace(url), ...(detail !== undefined && { detail }) };
    }
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", url: `data:${AUDIO_TYPES[format]};base64,${data}` };
    }
    case "file": {
      const { file_data: data, file_id: blob, filename } = part.file;
      return {
        type: "file",
        ...(data !== undefined && { url: data }),
        ...(blob !== undefined && { blob }),
        ...(filename !== undefined && { name: filename }),
      };
    }
  }
}

/** A blob's id may replace an address of OpenAI's API. */
function toPlace(url: string): Pick<MediaPart, "url" | "blob"> {
  return isBlobId(url) ? { blob: url } : { url };
}
