import { WorkShares } from "@reprise/async";
import { parseTenantId, type TenantId } from "@reprise/protocol";
import { expect, test } from "vitest";
import { createRuleSetCache } from "./rule-set-cache.ts";

const ACME = parseTenantId("acme");
const BETA = parseTenantId("beta");
const shares = new WorkShares({ stepsPerSecond: 1e9, burst: 1e9, slice: 1e9 });

function counted(maxBytes: number) {
  const reads: string[] = [];
  const read = async (_tenant: TenantId, id: string) => {
    reads.push(id);
    return id === "gone"
      ? undefined
      : [{ terms: Array.from({ length: 200 }, (_, at) => `${id} ${at * 7_919}`) }];
  };
  const ruleSet = createRuleSetCache({ read, shares, maxBytes });
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

test("a tenant with many rules loses its own, and another one's stay", async () => {
  const { bytes = 0 } = (await counted(0).ruleSet(ACME, "a")) ?? {};
  const { reads, ruleSet } = counted(2.5 * bytes);
  await ruleSet(BETA, "b");
  for (const id of ["1", "2", "3", "4"]) await ruleSet(ACME, id);
  await ruleSet(BETA, "b");
  expect(reads).toEqual(["b", "1", "2", "3", "4"]);
});
