import * as z from "zod";

const schema = z.strictObject({
  v: z.literal(1),
  blob: z.string(),
  type: z.string(),
  bytes: z.int().min(1),
  sha256: z.string(),
});

/** The description of a copied blob: its first part, sealed like the others. */
export interface CopiedContent {
  readonly blob: string;
  /** The media type. */
  readonly type: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

export function encodeContent({ blob, type, bytes, sha256 }: CopiedContent): Uint8Array {
  return Buffer.from(JSON.stringify({ v: 1, blob, type, bytes, sha256 }));
}

/** Undefined for what is none. */
export function decodeContent(bytes: Uint8Array): CopiedContent | undefined {
  try {
    return schema.safeParse(JSON.parse(Buffer.from(bytes).toString())).data;
  } catch {
    return undefined;
  }
}
