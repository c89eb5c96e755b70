import type { GroupKey } from "@reprise/facts";
import { RepriseError } from "@reprise/protocol";
import * as z from "zod";

/** The place where a list of groups continues: after a group, of the same time and by the same dimensions. */
export interface GroupPosition {
  readonly by: readonly string[];
  /** All pages cover the time of the first one's question: without times a question is about the last 24 hours, which move. */
  readonly from: string;
  readonly to: string;
  readonly key: GroupKey;
}

const texts = z.array(z.string());
const positionSchema = z.strictObject({
  by: texts,
  from: z.iso.datetime(),
  to: z.iso.datetime(),
  key: texts,
});

/** Encodes the cursor that clients send back as `after`; opaque to them. */
export function encodeGroupCursor({ by, from, to, key }: GroupPosition): string {
  return Buffer.from(JSON.stringify({ by, from, to, key })).toString("base64url");
}

/** @throws RepriseError `invalid_request` for what is not of a list by these dimensions */
export function parseGroupCursor(after: string, by: readonly string[]): GroupPosition {
  const { data: position } = positionSchema.safeParse(parseJson(Buffer.from(after, "base64url").toString()));
  if (position?.key.length === by.length && by.every((name, i) => name === position.by[i])) return position;
  const message = "after: is not what a list by the same dimensions has given as next.";
  throw new RepriseError("invalid_request", message, { param: "after" });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
