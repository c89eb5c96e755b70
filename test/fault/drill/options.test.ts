import { expect, test } from "vitest";
import { parseDrillOptions } from "./options.ts";

test("what can be drilled, and how, is said when it is not understood", () => {
  expect(parseDrillOptions(["restore"])).toEqual({ name: "restore", generations: 8 });
  expect(parseDrillOptions(["upgrade", "--from", "v1", "--seed", "7"])).toEqual({
    name: "upgrade",
    from: "v1",
    seed: 7,
  });
  expect(() => parseDrillOptions([])).toThrow('"" can\'t be drilled.');
  expect(() => parseDrillOptions(["restore", "--generations", "1"])).toThrow("from 2 to 200");
});
