import { assertVisible } from "../invalid-option.ts";

/** React Native has no `crypto`, and pages that came over plain http no `crypto.randomUUID`. */
function createIdempotencyKey(random: () => number): string {
  const bytes = new Uint8Array(16).map(() => random() * 256);
  (globalThis as { crypto?: Crypto }).crypto?.getRandomValues?.(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The app's own key, or a new one. @throws RepriseError `invalid_request` */
export function toIdempotencyKey(given: string | undefined, random: () => number): string {
  return assertVisible(given ?? createIdempotencyKey(random), "idempotencyKey", 255);
}
