import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { expect, test } from "vitest";
import { GEN_AI, GEN_AI_METRIC, GEN_AI_OPERATION, HTTP, SERVER, MESSAGING } from "./conventions.ts";

test("names that are not ours are those of OpenTelemetry's semantic conventions", () => {
  const known = new Set<unknown>(Object.values(conventions));
  const { fetch: _ours, ...operations } = GEN_AI_OPERATION;
  const names = [HTTP, SERVER, GEN_AI, GEN_AI_METRIC, MESSAGING, operations].flatMap((group) =>
    Object.values(group),
  );
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});
