import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { badShareOf, BURNS } from "../../infra/observability/burn.ts";
import { generatedFiles, ruleTexts } from "../../infra/observability/generated-files.ts";
import { PLAIN_ALERTS } from "../../infra/observability/plain-alerts.ts";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { SLOS } from "../../infra/observability/slo.ts";
import { promtool } from "./testing/promtool.ts";
import { type AlertCase, plainCases, sloCases, toTestFile } from "./testing/rule-unit-tests.ts";

const GENERATED = join(import.meta.dirname, "../../infra/observability/generated");
const FILES = Object.keys(ruleTexts()).map((name) => join(GENERATED, name));
/** Recordings first. */
const GROUPS = Object.values(ruleFiles())
  .flat()
  .map(({ name }) => name);

test.each(Object.entries(generatedFiles()))("%s is what `npm run observability` writes", (name, text) => {
  expect(readFileSync(join(GENERATED, name), "utf8")).toBe(text);
});

test("promtool finds nothing wrong with the example of a configuration", async () => {
  const path = join(GENERATED, "../prometheus.yml");
  expect(await promtool(["check", "config", path])).toMatchObject({ code: 0 });
});

test("promtool finds nothing wrong with the rules, at full and at a sixtieth of the time", async () => {
  expect(await promtool(["check", "rules", "--lint=all", "--lint-fatal", ...FILES])).toMatchObject({
    code: 0,
  });
  await using dir = await createTempDir("rules");
  for (const [name, text] of Object.entries(ruleTexts(1 / 60))) {
    await writeFile(join(dir.path, name), text);
    expect(await promtool(["check", "rules", join(dir.path, name)])).toMatchObject({ code: 0 });
  }
});

describe("promtool's unit tests", () => {
  const cases = [...SLOS.flatMap(sloCases), ...PLAIN_ALERTS.flatMap(plainCases)];
  const bySteps = [...Map.groupBy(cases, ({ stepS }) => stepS)];

  test.each(bySteps)("the alerts fire and stay silent as they should, in steps of %i s", async (_, same) => {
    expect(await runUnitTests(same)).toEqual({ code: 0, output: expect.stringContaining("SUCCESS") });
  });

  test("fail where an alert is expected that does not fire", async () => {
    const planted = cases.filter(({ fires }) => !fires).slice(0, 1);
    expect(await runUnitTests(planted.map((silent) => ({ ...silent, fires: true })))).toEqual({
      code: 1,
      output: expect.stringContaining("FAILED"),
    });
  });
});

test("an objective with a budget so large that an alert could never fire is refused", () => {
  const [fastest] = BURNS;
  expect(fastest && (() => badShareOf({ name: "loose", target: 0.9 }, fastest))).toThrow(
    "loose: an alert at",
  );
});

async function runUnitTests(cases: readonly AlertCase[]) {
  await using dir = await createTempDir("unit-tests");
  const path = join(dir.path, "tests.yml");
  await writeFile(path, toTestFile(cases, { files: FILES, groups: GROUPS }));
  return await promtool(["test", "rules", path]);
}
