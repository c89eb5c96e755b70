import { hash } from "node:crypto";

/** In a witness's folder: what it has cosigned last of each tree. */
export const SEEN_DIR = "seen";

/** Origins may hold characters that no key of a store has. */
export function seenKey(origin: string): string {
  return hash("sha256", origin, "hex");
}
