import { expect, test } from "vitest";
import { call, KEYS, openPlatform } from "../testing/platform.ts";

test("rules that can't be used, or cost too much, are refused by their path where a policy is taken in, and nowhere else", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  const put = (rules: unknown[]) =>
    call(`${platform.node.url}/v1/admin/tenants/acme/policy`, {
      method: "PUT",
      key: KEYS.operator,
      body: { policy: { moderation: { mode: "gate", rules } } },
    });
  const post = (rules: unknown[]) =>
    call(`${platform.node.url}/v1/admin/tenants`, {
      method: "POST",
      key: KEYS.operator,
      body: { id: "gamma", policy: { moderation: { rules } } },
    });
  for (const take of [put, post])
    for (const [pattern, message] of [
      ["(a", "missing closing )"],
      ["(?s).*[aeiou].{20}§", "more than 1000 states"],
      ["[ab]?a(?:[ab]?){998}[cd]", "1024 at most"],
    ] as const)
      expect(await take(["cards", { pattern }])).toMatchObject({
        status: 400,
        json: {
          error: {
            code: "invalid_request",
            param: "policy.moderation.rules.1.pattern",
            message: expect.stringContaining(message),
          },
        },
      });
  expect((await put(["cards", { pattern: "project falcon" }])).status).toBe(200);
});
