import { type ContentPart, type MediaPart, parseDataUrl, RepriseError } from "@reprise/protocol";
import type { MessageForm } from "../dialect-form.ts";

/** The content of a message, in the upstream's form. A text stays one: templates treat it otherwise than a list of one part. */
export function toContent(content: string | readonly ContentPart[], form: MessageForm): string | object[] {
  return typeof content === "string" ? content : content.map((part) => toPart(part, form));
}

function toPart(part: ContentPart, { refusalParts }: MessageForm): object {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "refusal":
      return refusalParts ? { type: "refusal", refusal: part.refusal } : { type: "text", text: part.refusal };
    case "image": {
      const { detail } = part;
      return { type: "image_url", image_url: { url: urlOf(part), ...(detail && { detail }) } };
    }
    case "audio": {
      const { mediaType, base64 } = inlineOf(part);
      return { type: "input_audio", input_audio: { data: base64, format: audioFormatOf(mediaType) } };
    }
    case "file": {
      const { name } = part;
      return {
        type: "file",
        file: { ...(name !== undefined && { filename: name }), file_data: urlOf(part) },
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

function inlineOf(part: MediaPart) {
  const media = part.url === undefined ? undefined : parseDataUrl(part.url);
  if (media) return media;
  throw unresolved();
}

/** Only what is in the request itself: what is elsewhere is brought into it before an engine is asked. */
function urlOf(part: MediaPart): string {
  if (part.url?.startsWith("data:")) return part.url;
  throw unresolved();
}

function unresolved(): RepriseError {
  return new RepriseError(
    "capability_unsupported",
    "The input has a URL or a blob that this worker can't resolve.",
  );
}
