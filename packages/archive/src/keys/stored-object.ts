import * as z from "zod";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import type { BlobStore } from "../store/blob-store.ts";

/** A key that another one has wrapped. */
export const wrappedSchema = z.strictObject({ wrapped: z.base64() });

export function encodeStored(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** @throws RepriseError `archive_unavailable`, `archive_corrupt` */
export async function readStored<T>(
  store: BlobStore,
  key: string,
  schema: z.ZodType<T>,
): Promise<T | undefined> {
  const bytes = await store.get(key);
  if (!bytes) return undefined;
  try {
    return schema.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    // What the parsers say may repeat a part of it.
    throw archiveCorrupt(`The keyring's object ${key} is not as it was written.`);
  }
}
