import { parseTenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { createRuleSetCache } from "./rule-set-cache.ts";

const ACME = parseTenantId("acme");

function counted(maxBytes: number) {
  const reads: string[] = [];
  const ruleSet = createRuleSetCache(async (_tenant, id) => {
    reads.push(id);
    return id === "gone"
      ? undefined
      : [{ terms: Array.from({ length: 200 }, (_, at) => `${id} ${at * 7_919}`) }];
  }, maxBytes);
  return { reads, ruleSet };
}

test("rules are read and made ready once, however often they are asked for", async () => {
  const { reads, ruleSet } = counted(Number.POSITIVE_INFINITY);
  const [first, second] = await Promise.all([ruleSet(ACME, "a"), ruleSet(ACME, "a")]);
  expect([second, await ruleSet(ACME, "a"), reads]).toEqual([first, first, ["a"]]);
});

test("rules that are not there are asked for again", async () => {
  const { reads, ruleSet } = counted(Number.POSITIVE_INFINITY);
  expect([await ruleSet(ACME, "gone"), await ruleSet(ACME, "gone"), reads]).toEqual([
    undefined,
    undefined,
    ["gone", "gone"],
  ]);
});

test("of rules that take too much memory together the longest unused go", async () => {
  const { bytes = 0 } = (await counted(0).ruleSet(ACME, "a")) ?? {};
  const { reads, ruleSet } = counted(2.5 * bytes);
  for (const id of ["a", "b", "a", "c", "a", "b"]) await ruleSet(ACME, id);
  expect([bytes > 10_000, reads]).toEqual([true, ["a", "b", "c", "b"]]);
});
