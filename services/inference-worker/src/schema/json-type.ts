import type { JsonValue } from "@reprise/protocol";

export type JsonObject = Record<string, JsonValue>;

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What only fits where it holds: a count, a limit. */
export function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

export function isTexts(value: JsonValue | undefined): value is string[] {
  return Array.isArray(value) && value.every((part) => typeof part === "string");
}
