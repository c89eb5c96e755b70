import * as z from "zod";
import { isBlobId, type BlobId } from "../blob/blob-id.ts";

/** A blob that a request names, as it was when the request was taken. */
const mediaSchema = z.object({
  blob: z.custom<BlobId>(isBlobId),
  /** Its media type. */
  type: z.string(),
  bytes: z.int().min(0),
  /** Lower-case hex, of the content. */
  sha256: z.string(),
});

/** By what the parts of the request name (`referenceOf`): the content of a reference is this one, whatever it may be later. */
export const mediaMapSchema = z.record(z.string(), mediaSchema);

export type RequestMedia = Readonly<z.infer<typeof mediaSchema>>;
export type MediaMap = Readonly<Record<string, RequestMedia>>;
