import { RepriseError } from "@reprise/protocol";

/** The end of a list's page: after the generation created at this time. */
export interface PageCursor {
  readonly createdUs: number;
  readonly generation: string;
}

const PLACE = /^(0|[1-9][0-9]{0,15})\.([A-Za-z0-9_-]{1,64})$/;

/** Encodes the cursor that clients send back as `after`; opaque to them. */
export function encodePageCursor({ createdUs, generation }: PageCursor): string {
  return Buffer.from(`${createdUs}.${generation}`).toString("base64url");
}

/** @throws RepriseError `invalid_request` */
export function parsePageCursor(after: string): PageCursor {
  const [, createdUs, generation] = PLACE.exec(Buffer.from(after, "base64url").toString()) ?? [];
  if (createdUs === undefined || generation === undefined)
    throw new RepriseError("invalid_request", "after is not what a list has given as next.", {
      param: "after",
    });
  return { createdUs: Number(createdUs), generation };
}
