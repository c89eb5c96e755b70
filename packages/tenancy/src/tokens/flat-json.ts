/** A string of JSON, and what follows it where it is a name. */
const STRINGS = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/**
 * A JSON object without objects in it and without a name that is there twice: parsers differ in which of the two counts.
 * @returns undefined for any other text
 */
export function parseFlatJson(text: string): Readonly<Record<string, unknown>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  if (entries.some(([, part]) => typeof part === "object" && part !== null)) return undefined;
  const names = text.matchAll(STRINGS).reduce((count, [, colon]) => count + (colon ? 1 : 0), 0);
  return names === entries.length ? Object.fromEntries(entries) : undefined;
}
