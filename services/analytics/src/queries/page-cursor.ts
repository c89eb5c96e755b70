import { RepriseError } from "@reprise/protocol";
import type { RowPosition } from "../facts/row-source.ts";

const POSITION = /^(0|[1-9][0-9]{0,15})\.([A-Za-z0-9_-]{1,64})$/;

/** Encodes the cursor that clients send back as `after`; opaque to them. */
export function encodePageCursor({ endedUs, generation }: RowPosition): string {
  return Buffer.from(`${endedUs}.${generation}`).toString("base64url");
}

/** @throws RepriseError `invalid_request` */
export function parsePageCursor(after: string): RowPosition {
  const [, endedUs, generation] = POSITION.exec(Buffer.from(after, "base64url").toString()) ?? [];
  if (endedUs !== undefined && generation !== undefined) return { endedUs: Number(endedUs), generation };
  throw new RepriseError("invalid_request", "after is not what a list has given as next.", {
    param: "after",
  });
}
