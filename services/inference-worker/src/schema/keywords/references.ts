import type { JsonValue } from "@reprise/protocol";
import { isJsonObject } from "../json-type.ts";
import { CHARACTERS_PER_STEP, type Validation } from "../validation.ts";
import { type Keyword, leftOpen } from "./keyword.ts";

/** Schemas that stand elsewhere. Nothing is fetched: only what is in the same document is read. */
export const REFERENCE_KEYWORDS: Readonly<Record<string, Keyword>> = {
  $ref(setting, value, { validation, check }) {
    const target = typeof setting === "string" ? find(setting, validation) : undefined;
    return target === undefined ? undefined : check(target, value, validation);
  },
  $dynamicRef: leftOpen,
  $recursiveRef: leftOpen,
};

/** What a JSON pointer in a fragment leads to. */
function find(reference: string, validation: Validation): JsonValue | undefined {
  validation.spend(1 + reference.length / CHARACTERS_PER_STEP);
  if (!/^#(\/|$)/.test(reference) || validation.hasInnerIds) return undefined;
  const steps = reference.slice(1).split("/").slice(1);
  validation.spend(steps.length);
  let found: JsonValue | undefined = validation.root;
  for (const step of steps) {
    const name = decode(step);
    if (typeof found !== "object" || found === null || name === undefined || !Object.hasOwn(found, name))
      return undefined;
    found = Array.isArray(found) ? found[Number(name)] : isJsonObject(found) ? found[name] : undefined;
  }
  return found;
}

function decode(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
