import type { JsonValue } from "@reprise/protocol";
import { any, type Fit } from "../fit.ts";
import { isJsonObject, isTexts } from "../json-type.ts";
import { isSameJson } from "../same-json.ts";
import type { Keyword } from "./keyword.ts";

/** What is said of values of any type. */
export const VALUE_KEYWORDS: Readonly<Record<string, Keyword>> = {
  type(setting, value, { schema }) {
    const names = typeof setting === "string" ? [setting] : setting;
    if (!isTexts(names)) return undefined;
    const fit = any(names.values().map((name) => isOfType(name, value)));
    // Of OpenAPI, where engines know it.
    return value === null && schema["nullable"] === true && fit === false ? undefined : fit;
  },
  const: (setting, value, { validation }) => isSameJson(setting, value, validation),
  enum(setting, value, { validation }) {
    if (!Array.isArray(setting)) return undefined;
    return setting.some((one) => isSameJson(one, value, validation));
  },
};

function isOfType(name: string, value: JsonValue): Fit {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "string":
    case "boolean":
    case "number":
      return typeof value === name;
    case "integer":
      if (typeof value !== "number") return false;
      // Beyond what a number can hold.
      return Number.isFinite(value) ? Number.isInteger(value) : undefined;
    default:
      return undefined;
  }
}
