import {
  isMediaPart,
  type MediaPart,
  parseDataUrl,
  partsOf,
  referenceOf,
  RepriseError,
  toTurnMessages,
} from "@reprise/protocol";
import type { EngineRequest, MediaSource, Progress } from "../../engine.ts";
import { MediaMarks, type NamedFile, type RequestBody } from "./request-body.ts";

/** How a model server is given what parts name: within the request, or, for images, by an address that it fetches, or, for files, uploaded before. */
export const MEDIA_FORMS = ["data", "url", "upload"] as const;
export type MediaForm = (typeof MEDIA_FORMS)[number];

/**
 * Where the content of a part is: its base64, or a mark where that is put in while it is sent; an address, where the upstream fetches it; a mark for
 * the id that the upstream has for it, where it is a file of its own.
 */
export interface PlacedMedia {
  readonly mediaType: string;
  readonly base64: string;
  readonly link?: string;
  readonly fileId?: string;
}

export type PlaceMedia = (part: MediaPart) => PlacedMedia;

/** What a request names, found and ready to be sent. */
export interface RequestPlaces {
  readonly place: PlaceMedia;
  /** To be uploaded to the server that is asked. */
  readonly files: readonly NamedFile[];
  /**
   * @param json of a body whose parts were placed by `place`
   * @param ids what the server calls each of `files`
   */
  toBody(json: string, ids?: ReadonlyMap<NamedFile, string>): RequestBody;
}

/** Only what is in the request itself. */
export const placeInline: PlaceMedia = (part) => {
  const media = part.url === undefined ? undefined : parseDataUrl(part.url);
  if (media) return media;
  throw new RepriseError(
    "capability_unsupported",
    "The input has a URL or a blob that this worker can't resolve.",
  );
};

/**
 * Looks up what the parts name, those of tools' answers too, before an engine is asked. Sound and files have no form in which a chat completion's part names an address,
 * and images and sound none in which it names a file of the server's.
 * @throws RepriseError as `MediaSource.find`
 */
export async function findPlaces(
  { input, turns = [] }: Pick<EngineRequest, "input"> & Partial<Pick<Progress, "turns">>,
  media: MediaSource | undefined,
  form: MediaForm = "data",
): Promise<RequestPlaces> {
  const marks = new MediaMarks();
  const found = new Map<string, PlacedMedia>();
  const files: NamedFile[] = [];
  for (const { part } of [...partsOf(input), ...partsOf(toTurnMessages(turns))]) {
    if (!media || !isMediaPart(part)) continue;
    const reference = referenceOf(part);
    const key = keyOf(part);
    if (reference === undefined || found.has(key)) continue;
    const named = await media.find(reference);
    const placed = { mediaType: named.type, base64: marks.mark(named) };
    if (form === "upload" && part.type === "file") {
      const file = { media: named, name: part.name };
      files.push(file);
      found.set(key, { ...placed, fileId: marks.markId(file) });
    } else if (form === "url" && part.type !== "file" && named.type.startsWith("image/"))
      found.set(key, { ...placed, link: await named.link() });
    else found.set(key, placed);
  }
  return {
    place: (part) => found.get(keyOf(part)) ?? placeInline(part),
    files,
    toBody: (json, ids) => marks.toBody(json, ids),
  };
}

/** A file is uploaded under the name that its part has for it. */
function keyOf(part: MediaPart): string {
  const reference = referenceOf(part);
  return reference === undefined
    ? ""
    : JSON.stringify([reference, part.type === "file" ? (part.name ?? "") : null]);
}
