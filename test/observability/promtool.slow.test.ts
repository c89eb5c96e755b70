import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { createTempDir } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { badShareOf, BURNS } from "../../infra/observability/burn.ts";
import { PLAIN_ALERTS } from "../../infra/observability/plain-alerts.ts";
import { ruleTexts } from "../../infra/observability/rule-texts.ts";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import type { RuleGroup } from "../../infra/observability/rules/rule.ts";
import { SLOS } from "../../infra/observability/slo.ts";
import { toYaml } from "../../infra/observability/yaml.ts";
import { ROOT } from "../containers/testing/compose-file.ts";
import { drive } from "./testing/drive.ts";
import { scrape, startObservedPlatform } from "./testing/observed-platform.ts";
import { type AlertCase, plainCases, sloCases, toTestFile } from "./testing/rule-unit-tests.ts";

const GENERATED = join(import.meta.dirname, "../../infra/observability/generated");
const FILES = Object.keys(ruleTexts()).map((name) => join(GENERATED, name));
/** Recordings first. */
const GROUPS: readonly RuleGroup[] = Object.values(ruleFiles()).flat();
const PASSED = { code: 0, output: expect.stringContaining("SUCCESS") };

test("promtool finds nothing wrong with any service's metrics, on a platform that has done some work", async () => {
  await using platform = await startObservedPlatform();
  await drive(platform);
  for (const service of platform.services) {
    const result = await promtool(["check", "metrics"], await scrape(service));
    expect({ service: service.name, ...result }).toEqual({ service: service.name, code: 0, output: "" });
  }
});

test("promtool accepts the configuration of the collector's receiver, and refuses an unknown field", async () => {
  await using dir = await createTempDir("collector");
  const path = join(dir.path, "prometheus.yml");
  const collector = await readFile(join(ROOT, "infra/observability/collector.yml"), "utf8");
  const { config } = (parse(collector) as { receivers: { prometheus: { config: object } } }).receivers
    .prometheus;
  await writeFile(path, stringify(config));
  expect(await promtool(["check", "config", path])).toMatchObject({ code: 0 });
  await writeFile(path, `${await readFile(path, "utf8")}\nscrape_configurations: []\n`);
  expect(await promtool(["check", "config", path])).toEqual({
    code: 1,
    output: expect.stringContaining("field scrape_configurations not found"),
  });
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
  for (const [name, rules] of Object.entries(ruleTexts(1 / 60))) {
    await writeFile(join(dir.path, name), rules);
    expect(await promtool(["check", "rules", join(dir.path, name)])).toMatchObject({ code: 0 });
  }
});

describe("promtool's unit tests", () => {
  const plain = PLAIN_ALERTS.flatMap(plainCases);

  test.each(SLOS.map((slo) => [slo.name, slo] as const))(
    "the alerts of %s fire and stay silent as they should",
    async (_, slo) => {
      // All cases of a file have the same step.
      const bySteps = [...Map.groupBy(sloCases(slo), ({ stepS }) => stepS).values()];
      for (const cases of bySteps)
        expect(await runUnitTests(cases, groupsOf([slo.alert]))).toMatchObject(PASSED);
    },
  );

  test("the alerts without a budget fire and stay silent as they should", async () => {
    const groups = groupsOf(PLAIN_ALERTS.map(({ alert }) => alert));
    expect(await runUnitTests(plain, groups)).toMatchObject(PASSED);
  });

  test("fail where an alert is expected that does not fire", async () => {
    const planted = plain.filter(({ fires }) => !fires).slice(0, 1);
    const groups = groupsOf(PLAIN_ALERTS.map(({ alert }) => alert));
    const cases = planted.map((silent) => ({ ...silent, fires: true }));
    expect(await runUnitTests(cases, groups)).toEqual({ code: 1, output: expect.stringContaining("FAILED") });
  });
});

test("an objective with a budget so large that an alert could never fire is refused", () => {
  const [fastest] = BURNS;
  expect(fastest && (() => badShareOf({ name: "loose", target: 0.9 }, fastest))).toThrow(
    "loose: an alert at",
  );
});

/** These alerts and the recordings that they read: promtool evaluates all rules that it is given for each case. Recordings first. */
function groupsOf(alerts: readonly string[]): RuleGroup[] {
  const kept = GROUPS.map((group) => ({
    ...group,
    rules: group.rules.filter((rule) => "alert" in rule && alerts.includes(rule.alert)),
  })).filter(({ rules }) => rules.length > 0);
  const named = new Set(kept.flatMap(({ rules }) => rules).flatMap(({ expr }) => slosIn(expr)));
  const recordings = GROUPS.filter(({ rules }) =>
    rules.some((rule) => "record" in rule && named.has(rule.labels?.["slo"] ?? "")),
  );
  return [...recordings, ...kept];
}

function slosIn(expr: string): string[] {
  return [...expr.matchAll(/slo="([^"]+)"/g)].map(([, name = ""]) => name);
}

async function runUnitTests(cases: readonly AlertCase[], groups: readonly RuleGroup[]) {
  await using dir = await createTempDir("unit-tests");
  const rules = join(dir.path, "rules.yml");
  const path = join(dir.path, "tests.yml");
  await writeFile(rules, toYaml({ groups }));
  await writeFile(path, toTestFile(cases, { files: [rules], groups: groups.map(({ name }) => name) }));
  return await promtool(["test", "rules", path]);
}

interface PromtoolResult {
  readonly code: number | null;
  /** The text of both streams. */
  readonly output: string;
}

/** Runs `promtool` with these arguments, and with `input` on its stdin. */
async function promtool(args: readonly string[], input = ""): Promise<PromtoolResult> {
  const child = spawn("promtool", args, { stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "close") as Promise<[number | null]>,
  ]);
  return { code, output: stdout + stderr };
}
