import { invalidOption } from "../invalid-option.ts";

/**
 * Encodes an id as one segment of a path. Refuses "", `.` and `..`: a URL resolves them, however they are encoded, so the call would be another one.
 * @throws RepriseError `invalid_request`
 */
export function pathSegment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw invalidOption("id", `can't be ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}
