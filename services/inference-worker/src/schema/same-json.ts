import type { JsonValue } from "@reprise/protocol";
import { isJsonObject } from "./json-type.ts";
import type { Validation } from "./validation.ts";

/** Whether two values are the same for JSON: the order of an object's fields is none. */
export function isSameJson(a: JsonValue, b: JsonValue, validation: Validation): boolean {
  validation.spend(1);
  if (a === b) return true;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return validation.nested(() => a.every((part, i) => isSameJson(part, b[i]!, validation)));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const names = validation.namesOf(a);
  if (names.length !== validation.namesOf(b).length) return false;
  return validation.nested(() =>
    names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name]!, b[name]!, validation)),
  );
}
