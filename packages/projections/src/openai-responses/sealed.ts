import { parseWith } from "@reprise/protocol";
import * as z from "zod";

/** Reasoning that its engine alone can read, and how that engine names it. */
export interface Sealed {
  readonly encrypted: string;
  readonly id?: string | undefined;
}

const sealedSchema = z.strictObject({ encrypted: z.string(), id: z.string().optional() });

/** Value of `encrypted_content`, which clients return unchanged: with the engine's own id, because an item's id is the platform's. */
export function toEncryptedContent({ encrypted, id }: Sealed): string {
  const isPlain = id === undefined && !encrypted.startsWith("{");
  return isPlain ? encrypted : JSON.stringify({ encrypted, id });
}

/** Restores the argument of `toEncryptedContent`. */
export function fromSealed(content: string): Sealed {
  if (!content.startsWith("{")) return { encrypted: content };
  try {
    return parseWith(sealedSchema, JSON.parse(content));
  } catch {
    return { encrypted: content };
  }
}
