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
import { MediaMarks, type RequestBody } from "./request-body.ts";

/** The forms in which a model server gets media: within the request or, for images, as an address that it fetches. */
export const MEDIA_FORMS = ["data", "url"] as const;
export type MediaForm = (typeof MEDIA_FORMS)[number];

/** Where the content of a part is: its base64, or a mark that is replaced by it while it is sent; an address if the upstream fetches it. */
export interface PlacedMedia {
  readonly mediaType: string;
  readonly base64: string;
  readonly link?: string;
}

export type PlaceMedia = (part: MediaPart) => PlacedMedia;

/** The media of a request, found and ready to be sent. */
export interface RequestPlaces {
  readonly place: PlaceMedia;
  /** @param json of a body whose parts were placed by `place` */
  toBody(json: string): RequestBody;
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
 * Looks up what the parts name, those of tools' answers too, before an engine is asked. Sound and files have no form in which a chat completion's part names an address.
 * @throws RepriseError as `MediaSource.find`
 */
export async function findPlaces(
  { input, turns = [] }: Pick<EngineRequest, "input"> & Partial<Pick<Progress, "turns">>,
  media: MediaSource | undefined,
  form: MediaForm = "data",
): Promise<RequestPlaces> {
  const marks = new MediaMarks();
  const found = new Map<string, PlacedMedia>();
  for (const { part } of [...partsOf(input), ...partsOf(toTurnMessages(turns))]) {
    if (!media || !isMediaPart(part)) continue;
    const reference = referenceOf(part);
    if (reference === undefined || found.has(reference)) continue;
    const named = await media.find(reference);
    const placed = { mediaType: named.type, base64: marks.mark(named) };
    const isLinked = form === "url" && named.type.startsWith("image/");
    found.set(reference, isLinked ? { ...placed, link: await named.link() } : placed);
  }
  return {
    place: (part) => found.get(referenceOf(part) ?? "") ?? placeInline(part),
    toBody: (json) => marks.toBody(json),
  };
}
