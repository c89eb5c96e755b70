import { RepriseError } from "@reprise/protocol/wire";

/** A new random key. `crypto.randomUUID` exists neither in React Native nor in pages that came over plain http. */
function createIdempotencyKey(random: () => number): string {
  const source = (globalThis as { crypto?: Partial<Crypto> }).crypto;
  if (source?.randomUUID) return source.randomUUID();
  const bytes = new Uint8Array(16);
  if (source?.getRandomValues) source.getRandomValues(bytes);
  else for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * The app's own key, or a new one. A wrong one is refused here, not by the server: `fetch` throws for such a header, and that could not be told
 * from a broken network.
 * @throws RepriseError `invalid_request`
 */
export function toIdempotencyKey(given: string | undefined, random: () => number): string {
  const key = given ?? createIdempotencyKey(random);
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  const message = "idempotencyKey must be 1 to 255 visible ASCII characters.";
  throw new RepriseError("invalid_request", message, { param: "idempotencyKey" });
}
