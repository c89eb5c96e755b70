import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ruleTexts } from "../../infra/observability/rule-texts.ts";
import { ruleFiles } from "../../infra/observability/rules/rule-files.ts";
import { SLOS } from "../../infra/observability/slo.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

const RULES = Object.values(ruleFiles())
  .flat()
  .flatMap(({ rules }) => rules);
const ALERTS = RULES.filter((rule) => "alert" in rule);
const INDEX = "docs/runbooks/README.md";

describe("runbooks", () => {
  test("there is one for each alert, with its name as title, and none without an alert", () => {
    const named = Object.fromEntries(ALERTS.map(({ alert, annotations }) => [annotations["runbook"], alert]));
    const pages = globSync("docs/runbooks/*.md", { cwd: ROOT }).filter((path) => path !== INDEX);
    const titles = pages.map((path) => [path, /^# (.+)$/m.exec(read(path))?.[1]]);
    expect(Object.fromEntries(titles)).toEqual(named);
  });

  test("the index lists all of them", () => {
    const listed = [...read(INDEX).matchAll(/^\| `(\w+)` \| \[(.+)\]/gm)].map(([, alert, page]) => [
      alert,
      `docs/runbooks/${page}`,
    ]);
    expect(Object.fromEntries(listed)).toEqual(
      Object.fromEntries(ALERTS.map(({ alert, annotations }) => [alert, annotations["runbook"]])),
    );
  });
});

test("the README lists the objectives", () => {
  const rows = [...read("infra/observability/README.md").matchAll(/^\| `([\w-]+)` \| (\d.+?) \| `/gm)];
  expect(rows.map(([, name, objective]) => ({ name, objective: `${objective}.` }))).toEqual(
    SLOS.map(({ name, objective }) => ({ name, objective })),
  );
});

test.each(Object.entries(ruleTexts()))("%s is what `npm run observability` writes", (name, text) => {
  expect(read(`infra/observability/generated/${name}`)).toBe(text);
});
