import { expect, test } from "vitest";
import { type DrillResult, drillSmallArchive } from "./run-drill.ts";

test("every way to tamper with an archive is caught, and what was not tampered with is fine", async () => {
  const results: DrillResult[] = [];
  for await (const result of drillSmallArchive()) results.push(result);
  expect(results.filter(({ verdict, expected }) => verdict !== expected)).toEqual([]);
  expect(results.length).toBeGreaterThan(30);
});
