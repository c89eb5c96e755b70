import * as z from "zod";

export type JsonObject = { [key: string]: JsonValue };
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;

/**
 * A JSON object whose parts nest at most `maxDepth` deep, the object itself counted. Depth is bounded because validators and
 * serialisers recurse: 1 MiB of `[` would end in a stack overflow instead of an answer.
 */
export function jsonObjectSchema(maxDepth: number) {
  return z.custom<Record<string, JsonValue>>((value) => isPlainObject(value) && isJson(value, maxDepth), {
    error: `must be a JSON object, nested at most ${maxDepth} deep`,
  });
}

/** Any JSON value whose parts nest at most `maxDepth` deep. */
export function jsonValueSchema(maxDepth: number) {
  return z.custom<JsonValue>((value) => value !== undefined && isJson(value, maxDepth), {
    error: `must be a JSON value, nested at most ${maxDepth} deep`,
  });
}

/** Counts the values of a JSON value: itself, its parts, and theirs. */
export function countValues(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + countValues(part), 1);
}

function isJson(value: unknown, depth: number): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (depth === 0) return false;
  if (Array.isArray(value)) return value.every((part) => isJson(part, depth - 1));
  return isPlainObject(value) && Object.values(value).every((part) => isJson(part, depth - 1));
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
