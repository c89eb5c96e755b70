import type { ContentPart } from "@reprise/protocol";
import type { MessageForm } from "../dialect-form.ts";
import { placeInline, type PlacedMedia } from "./placed-media.ts";

/** The content of a message, in the upstream's form. A text stays one: templates treat it otherwise than a list of one part. */
export function toContent(content: string | readonly ContentPart[], form: MessageForm): string | object[] {
  return typeof content === "string" ? content : content.map((part) => toPart(part, form));
}

function toPart(part: ContentPart, { refusalParts, place = placeInline }: MessageForm): object {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return refusalParts ? { type: "refusal", refusal: part.refusal } : { type: "text", text: part.refusal };
    case "image": {
      const { detail } = part;
      const placed = place(part);
      return {
        type: "image_url",
        image_url: { url: placed.link ?? toDataUrl(placed), ...(detail && { detail }) },
      };
    }
    case "audio": {
      const { mediaType, base64 } = place(part);
      return { type: "input_audio", input_audio: { data: base64, format: audioFormatOf(mediaType) } };
    }
    case "file": {
      const { name } = part;
      return {
        type: "file",
        file: { ...(name !== undefined && { filename: name }), file_data: toDataUrl(place(part)) },
      };
    }
  }
}

const AUDIO_FORMATS: Readonly<Record<string, string>> = { mpeg: "mp3", wave: "wav", "x-wav": "wav" };

/** `audio/mpeg` is known as `mp3`. */
function audioFormatOf(mediaType: string): string {
  const [, subtype = ""] = mediaType.split("/");
  return AUDIO_FORMATS[subtype] ?? subtype.replace(/^x-/, "");
}

function toDataUrl({ mediaType, base64 }: PlacedMedia): string {
  return `data:${mediaType};base64,${base64}`;
}
