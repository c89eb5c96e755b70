import { expect, test } from "vitest";
import { eventSchema } from "./event.ts";
import { isKnownEvent } from "./known-event.ts";

test("knows the types that the schema has, and no others", () => {
  const types = eventSchema.options.flatMap((option) => [...option.shape.type.values]);
  expect(types.every((type) => isKnownEvent({ seq: 1, type }))).toBe(true);
  expect(["output.smell", "", "toString"].some((type) => isKnownEvent({ seq: 1, type }))).toBe(false);
});
