import { WorkShares } from "@reprise/async";
import { type ModerationRule, parseTenantId } from "@reprise/protocol";
import { expect, test, vi } from "vitest";
import { RuleChecks } from "./rule-checks.ts";

const [ACME, BETA] = ["acme", "beta"].map(parseTenantId) as [never, never];
const HOSTILE: ModerationRule[] = [{ pattern: "(?s).*[aeiou].{20}§" }];
const AT = "policy.moderation.rules.0.pattern";

/** Checks by a clock that does not advance, so that a share is never refilled, and what they have compiled. */
function checks({ burst }: { burst: number }) {
  const shares = new WorkShares({
    stepsPerSecond: 1,
    burst,
    slice: 100,
    now: () => 0,
    wait: () => new Promise(() => {}),
  });
  const run = vi.spyOn(shares, "run");
  return { made: new RuleChecks(shares), run, shares };
}

test("rules are compiled once for a tenant, and what is wrong with them is remembered", async () => {
  const { made, run } = checks({ burst: 1e9 });
  const refused = {
    code: "invalid_request",
    param: AT,
    message: expect.stringContaining("more than 1000 states"),
  };
  await expect(made.checkRequested(ACME, HOSTILE)).rejects.toMatchObject(refused);
  await expect(made.checkPolicy(ACME, HOSTILE)).rejects.toMatchObject(refused);
  await made.checkRequested(ACME, [{ pattern: "ab" }]);
  await made.checkRequested(ACME, [{ pattern: "ab" }]);
  expect(run).toHaveBeenCalledTimes(2);
});

test("a check that fails for another reason is made again at the next call", async () => {
  const { made, run } = checks({ burst: 1e9 });
  const rules = [{ pattern: "ab" }];
  run.mockRejectedValueOnce(new TypeError("a defect"));
  await expect(made.checkRequested(ACME, rules)).rejects.toThrow("a defect");
  await made.checkRequested(ACME, rules);
  expect(run).toHaveBeenCalledTimes(2);
});

test("rules whose price is too high are refused without being compiled", async () => {
  const { made, run } = checks({ burst: 1e9 });
  const rules = Array.from({ length: 60 }, (_, at) => ({ pattern: `.*x${at}` }));
  await expect(made.checkRequested(ACME, rules)).rejects.toMatchObject({
    code: "invalid_request",
    param: "policy.moderation.rules.16.pattern",
    message: expect.stringContaining("there may be 2048 at most"),
  });
  expect(run).not.toHaveBeenCalled();
});

test("a tenant whose share is spent waits, and is then told to come again; no other tenant does", async () => {
  const { made, run, shares } = checks({ burst: 1_000_000 });
  shares.spend(ACME, 2_000_000);
  const settled = vi.fn();
  for (let at = 0; at < 16; at++)
    void made.checkRequested(ACME, [{ pattern: `a{${at + 3}}b` }]).finally(settled);
  await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(16));
  await expect(made.checkRequested(ACME, [{ pattern: "one more" }])).rejects.toMatchObject({
    code: "overloaded",
    retryAfterMs: 1_000,
  });
  await made.checkRequested(BETA, [{ pattern: "a" }]);
  expect(settled).not.toHaveBeenCalled();
});
