import { REQUIREMENTS, runSuite, type TargetOptions } from "@reprise/conformance";
import { beforeAll, describe, expect, test } from "vitest";
import { type Break, startBreakingProxy } from "./testing/breaking-proxy.ts";
import { startConformanceTarget } from "./testing/conformance-target.ts";
import { BREAKS } from "./testing/protocol-breaks.ts";

let target: TargetOptions;

beforeAll(async () => {
  const started = await startConformanceTarget();
  target = started;
  return () => started[Symbol.asyncDispose]();
});

test("the platform keeps each requirement that can be tested, also through the proxy", async () => {
  await using proxy = await startBreakingProxy(target.url);
  const results = await runSuite({ ...target, url: proxy.url });
  expect(results.filter(({ outcome }) => outcome === "broken")).toEqual([]);
  const tested = results.filter(({ outcome }) => outcome === "kept").map(({ requirement }) => requirement.id);
  const testable = REQUIREMENTS.filter(({ untestable }) => untestable === undefined).map(({ id }) => id);
  expect(tested).toEqual(testable);
  expect(new Set(BREAKS.map(({ requirement }) => requirement))).toEqual(new Set(testable));
});

describe("a server is rejected that", () => {
  test.concurrent.each(
    BREAKS.map((broken): [string, string, Break] => [broken.how, broken.requirement, broken]),
  )("%s: %s", async (_, requirement, broken) => {
    await using proxy = await startBreakingProxy(target.url, broken);
    const [result] = await runSuite({ ...target, url: proxy.url }, { only: [requirement] });
    expect(result?.outcome).toBe("broken");
    // Not for want of time.
    expect(result?.reason).not.toContain("not done after");
  });
});
