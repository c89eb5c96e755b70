import { parseWith } from "@reprise/protocol";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fuzz, nearly } from "../../fuzz/fuzz.fixture.ts";
import { conversationListSchema, itemListSchema } from "./conversation-routes.ts";

test.each([
  ["conversations", conversationListSchema],
  ["items", itemListSchema],
] as const)("the query of a list of %s is taken within its limits", (_, schema) => {
  const limit = fc.integer({ min: 0, max: 200 }).map(String);
  const after = fc.string({ maxLength: 10 });
  fuzz(nearly(fc.record({ limit, after }, { requiredKeys: [] })), {
    parse: (value) => parseWith<{ limit: number }>(schema, value, "query"),
    check: (taken) => expect(taken.limit >= 1 && taken.limit <= 100).toBe(true),
  });
});
