import { type ContentPart, isBlobId } from "@reprise/protocol";
import { filePartSchema, parsePart, refusedField, type UiPart } from "./request-schema.ts";

/** The provider whose references are blobs. */
const PROVIDER = "reprise";
/** Path of a blob that a stream has named as the model's own, or of an upload. */
const BLOB_PATH = /^\/v1\/(?:generations\/[^/]+\/)?blobs\/([^/?#]+)$/;
/** Parameters, such as a charset, come between a data URL's type and its bytes. */
const DATA_URL = /^data:([^;,]*)(?:;[^;,]+)*;base64,/;

/**
 * An image, sound or file of a user's message.
 * @throws RepriseError `invalid_request` that names the part
 */
export function readFilePart(part: UiPart, path: string): Exclude<ContentPart, { type: "text" | "refusal" }> {
  const { mediaType, url, filename, providerReference } = parsePart(filePartSchema, part, path);
  const place = placeOf({ mediaType, url, reference: providerReference }, path);
  const [kind] = mediaType.toLowerCase().split("/", 1);
  if (kind === "image" || kind === "audio") return { type: kind, ...place };
  return { type: "file", ...place, ...(filename && { name: filename }) };
}

interface FilePlace {
  readonly mediaType: string;
  readonly url: string;
  readonly reference: Readonly<Record<string, string>> | undefined;
}

function placeOf({ mediaType, url, reference }: FilePlace, path: string): { url: string } | { blob: string } {
  if (reference) {
    const blob = reference[PROVIDER];
    if (isBlobId(blob)) return { blob };
    throw refusedField(`${path}.providerReference`, `must have a blob's id as ${PROVIDER}`);
  }
  const blob = BLOB_PATH.exec(url)?.[1];
  if (isBlobId(blob)) return { blob };
  const data = DATA_URL.exec(url);
  if (!data) return { url };
  const [prefix, type] = data;
  return { url: `data:${(type || mediaType).toLowerCase()};base64,${url.slice(prefix.length)}` };
}
