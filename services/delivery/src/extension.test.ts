import { expect, test } from "vitest";
import { type NodeParts, partOf } from "./extension.ts";

const routes: NodeParts["routes"] = { paths: {}, add: () => {} };
const turning: NodeParts = { routes, waitedUntil: async () => undefined };

test("a node has the part that one of its extensions brings", () => {
  expect(partOf([{ routes }, turning], "waitedUntil")).toBe(turning.waitedUntil);
  expect(partOf([{ routes }, turning], "turns")).toBeUndefined();
});

test("a node does not open with two extensions that bring the same part", () => {
  expect(() => partOf([turning, turning], "waitedUntil")).toThrow("2 extensions bring waitedUntil");
});
