import { LIMITS } from "@reprise/protocol";
import * as z from "zod";
import { ignored, only, givenOf, isGiven } from "./optional.ts";

/** Ends a part of the cached prompt, where an engine lets a request say so: none does. */
const prompt_cache_breakpoint = ignored;

const text = z.strictObject({ type: z.literal("input_text"), text: z.string(), prompt_cache_breakpoint });

const image = z.strictObject({
  type: z.literal("input_image"),
  image_url: z.string().nullish(),
  /** A blob's id. */
  file_id: z.string().nullish(),
  detail: z.enum(["auto", "low", "high"], { error: "must be auto, low or high" }).nullish(),
  prompt_cache_breakpoint,
});

const file = z.strictObject({
  type: z.literal("input_file"),
  /** A data URL. */
  file_data: z.string().nullish(),
  file_url: z.string().nullish(),
  /** A blob's id. */
  file_id: z.string().nullish(),
  filename: z.string().nullish(),
  detail: only(["auto"], "must be auto"),
  prompt_cache_breakpoint,
});

const audio = z.strictObject({
  type: z.literal("input_audio"),
  input_audio: z.strictObject({
    data: z.string(),
    format: z.enum(["mp3", "wav"], { error: "must be mp3 or wav" }),
  }),
});

const said = z.strictObject({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: ignored,
  logprobs: ignored,
});

const refusal = z.strictObject({ type: z.literal("refusal"), refusal: z.string() });

const PART_ERROR =
  "must be a part {type: input_text | input_image | input_file | input_audio | output_text | refusal, …}";

const partSchema = z.discriminatedUnion("type", [text, image, file, audio, said, refusal], {
  error: PART_ERROR,
});
export const contentSchema = z.union([z.string(), z.array(partSchema).max(LIMITS.parts)], {
  error: `must be a text, or at most ${LIMITS.parts} parts {type, …}`,
});
type Part = z.infer<typeof partSchema>;

const AUDIO_TYPES = { mp3: "audio/mpeg", wav: "audio/wav" } as const;

/** Content in the native form: one text is that text, which every engine takes. */
export function toContent(content: string | readonly Part[]): unknown {
  if (typeof content === "string") return content;
  const parts = content.map(toPart);
  const [first, second] = parts;
  if (!first) return "";
  return second === undefined && first.type === "text" ? first.text : parts;
}

/** The parser of the native request reports any errors in it. */
function toPart(part: Part): { type: string; [field: string]: unknown } {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "refusal":
      return { type: "refusal", refusal: part.refusal };
    case "input_image": {
      const { image_url: url, file_id: blob, detail } = part;
      return { type: "image", ...givenOf({ url, blob, detail }) };
    }
    case "input_file": {
      const { file_data: data, file_url: url, file_id: blob, filename: name } = part;
      // Two places where one is allowed are refused with both of them.
      return {
        type: "file",
        ...givenOf({ url: data ?? url, blob: isGiven(data) && isGiven(url) ? url : blob, name }),
      };
    }
    case "input_audio": {
      const { data, format } = part.input_audio;
      return { type: "audio", url: `data:${AUDIO_TYPES[format]};base64,${data}` };
    }
  }
}
