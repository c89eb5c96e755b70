import { type Result, runSuite } from "@reprise/conformance";
import { expect, test } from "vitest";
import { startBreakingProxy } from "./testing/breaking-proxy.ts";
import { startConformanceTarget } from "./testing/conformance-target.ts";
import { BREAKS } from "./testing/protocol-breaks.ts";

/** Rejected here; all breaks are in conformance.slow.test.ts. */
const SOME = ["M-4", "M-6", "M-7", "M-20", "M-25", "M-44", "M-48", "M-50", "M-60", "M-65"];

const idsOf = (results: readonly Result[], outcome: Result["outcome"]) =>
  results.filter((result) => result.outcome === outcome).map(({ requirement }) => requirement.id);

test("the platform keeps what the suite tests, and ten broken servers are rejected", async () => {
  await using target = await startConformanceTarget();
  const results = await runSuite(target, { quick: true, concurrency: 12 });
  expect(results.filter(({ outcome }) => outcome === "broken")).toEqual([]);
  expect(idsOf(results, "not tested")).toEqual(["M-22", "M-52", "M-53", "M-54", "M-59", "M-62", "M-63"]);

  const rejected = SOME.map(async (requirement) => {
    const broken = BREAKS.find((one) => one.requirement === requirement);
    await using proxy = await startBreakingProxy(target.url, broken);
    return idsOf(await runSuite({ ...target, url: proxy.url }, { only: [requirement] }), "broken");
  });
  expect((await Promise.all(rejected)).flat()).toEqual(SOME);
});
