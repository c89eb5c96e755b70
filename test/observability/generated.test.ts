import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ruleTexts } from "../../infra/observability/rule-texts.ts";

const GENERATED = join(import.meta.dirname, "../../infra/observability/generated");

test.each(Object.entries(ruleTexts()))("%s is what `npm run observability` writes", (name, text) => {
  expect(readFileSync(join(GENERATED, name), "utf8")).toBe(text);
});
