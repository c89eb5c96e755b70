const KEY = /^[A-Za-z0-9._=-]+(?:\/[A-Za-z0-9._=-]+)*$/;
const PREFIX = /^[A-Za-z0-9._=/-]*$/;
/** The folder of what is not whole yet. */
export const TEMPORARY_FOLDER = ".tmp";

/** True if an object can have this key: parts of `A-Z a-z 0-9 . _ = -` with `/` between them, none of which leads out of the store. */
export function isObjectKey(text: string): boolean {
  if (!KEY.test(text)) return false;
  const parts = text.split("/");
  return parts[0] !== TEMPORARY_FOLDER && parts.every((part) => part !== "." && part !== "..");
}

/** @throws TypeError: keys are made by programs, and a wrong one is a defect */
export function assertObjectKey(text: string): string {
  if (isObjectKey(text)) return text;
  throw new TypeError(`"${text}" is not an object's key`);
}

/** The beginning of a key, which may be empty. @throws TypeError */
export function assertKeyPrefix(text: string): string {
  const isInside = text.split("/").every((part) => part !== "..");
  if (PREFIX.test(text) && isInside && !text.startsWith("/") && !text.includes("//")) return text;
  throw new TypeError(`"${text}" does not begin an object's key`);
}
