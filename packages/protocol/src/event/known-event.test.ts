import { expect, test } from "vitest";
import { eventSchema } from "./event.ts";
import { isKnownType } from "./known-event.ts";

test("knows the types that the schema has, and no others", () => {
  const types = eventSchema.options.flatMap((option) => [...option.shape.type.values]);
  expect(types.every((type) => isKnownType(type))).toBe(true);
  expect(["output.smell", "", "toString"].some((type) => isKnownType(type))).toBe(false);
});
