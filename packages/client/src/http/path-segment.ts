import { invalidOption } from "../invalid-option.ts";

/**
 * An id as a part of a path. `.` and `..` can't be one, however they are written: URLs take them for the folder itself and the one above, and the call would
 * be another one.
 * @throws RepriseError `invalid_request`
 */
export function pathSegment(id: string, param = "id"): string {
  if (/^\.{0,2}$/.test(id)) throw invalidOption(param, `must be an id, got ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}
