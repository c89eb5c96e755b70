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

/** Media by the reference in the parts of the request (`referenceOf`). The content of a reference stays this one, even if it changes later. */
export const mediaMapSchema = z.record(z.string(), mediaSchema);

export type RequestMedia = Readonly<z.infer<typeof mediaSchema>>;
export type MediaMap = Readonly<Record<string, RequestMedia>>;
