import { expect, test } from "vitest";
import { assertKnownClassifiers } from "./assert-known-classifiers.ts";
import { parseTenantsFile } from "./tenants-file.ts";

const tenancy = (...rules: readonly unknown[]) => {
  const keys = [{ secret: "rk_acme_0123456789abcdef", roles: ["create"] }];
  const policy = { moderation: { mode: "gate", rules } };
  return parseTenantsFile(JSON.stringify({ tenants: [{ id: "acme", keys, policy }] }), "tenants.json");
};

test("rules that name classifiers of the file are taken, and rules without any", () => {
  const config = tenancy("cards", { terms: ["falcon"] }, { classifier: "toxicity" });
  expect(() => assertKnownClassifiers(config, new Set(["toxicity"]), "tenants.json")).not.toThrow();
});

test("every classifier that is not in the file is named with its place", () => {
  const config = tenancy({ classifier: "toxcity" }, "cards", { classifier: "guard" });
  const check = (known: ReadonlySet<string>) => () => assertKnownClassifiers(config, known, "tenants.json");
  const first = 'tenants.0.policy.moderation.rules.0.classifier: "toxcity" is no classifier';
  const second = 'tenants.0.policy.moderation.rules.2.classifier: "guard" is no classifier';
  expect(check(new Set(["toxicity", "guard"]))).toThrow(
    expect.objectContaining({
      code: "config_invalid",
      message: `tenants.json: ${first}. REPRISE_CLASSIFIERS_FILE has toxicity, guard.`,
    }),
  );
  expect(check(new Set())).toThrow(
    expect.objectContaining({
      message: `tenants.json: ${first}; ${second}. REPRISE_CLASSIFIERS_FILE has none.`,
    }),
  );
});
