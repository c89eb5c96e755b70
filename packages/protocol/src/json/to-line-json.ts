/** Besides CR and LF, which JSON escapes, some clients split lines at these: Python's `splitlines`, JavaScript before 2019. */
const LINE_ENDS = /[\u0085\u2028\u2029]/;
const ALL_LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** Writes JSON that is one line for every client, for a frame. These characters occur only in strings, where an escape says the same. */
export function toLineJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Nearly no event has one, and a test costs less than a replacement that finds nothing.
  return LINE_ENDS.test(json) ? json.replace(ALL_LINE_ENDS, toEscape) : json;
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
