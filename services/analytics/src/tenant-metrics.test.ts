import { createMetrics } from "@reprise/runtime";
import { expect, test } from "vitest";
import { TenantMetrics } from "./tenant-metrics.ts";

function open(maxTenants: number) {
  const metrics = createMetrics({ processMetrics: false });
  const tenants = new TenantMetrics(metrics, maxTenants);
  const read = async () => {
    const lines = (await metrics.render()).matchAll(/^reprise_tenant_(\w+)_total\{(.*)\} (\d+)$/gm);
    return Object.fromEntries(
      [...lines].map(([, what, labels, value]) => [`${what} ${labels}`, Number(value)]),
    );
  };
  return { tenants, read };
}

const row = (tenant: string, status: "completed" | "failed" | "cancelled", output_tokens: number) => ({
  tenant,
  status,
  output_tokens,
});

test("the first tenants have series of their own, and all further ones share one, whatever their number", async () => {
  const { tenants, read } = open(2);
  tenants.committed([row("acme", "completed", 5), row("beta", "failed", 1), row("gamma", "completed", 7)]);
  tenants.committed([row("acme", "cancelled", 2), row("beta", "completed", 0)]);
  tenants.committed(Array.from({ length: 1_000 }, (_, i) => row(`t${i}`, "completed", 1)));
  expect(await read()).toEqual({
    'generations tenant="acme",status="completed"': 1,
    'generations tenant="acme",status="cancelled"': 1,
    'generations tenant="beta",status="failed"': 1,
    'generations tenant="beta",status="completed"': 1,
    'generations tenant="other",status="completed"': 1_001,
    'output_tokens tenant="acme"': 7,
    'output_tokens tenant="beta"': 1,
    'output_tokens tenant="other"': 1_007,
  });
});

test("a tenant of the name `other` takes no place and pretends to be no other one; with 0 no tenant is named", async () => {
  const one = open(1);
  one.tenants.committed([row("other", "completed", 3), row("acme", "completed", 4)]);
  expect(await one.read()).toMatchObject({
    'output_tokens tenant="other"': 3,
    'output_tokens tenant="acme"': 4,
  });
  const none = open(0);
  none.tenants.committed([row("acme", "completed", 4)]);
  expect(await none.read()).toEqual({
    'generations tenant="other",status="completed"': 1,
    'output_tokens tenant="other"': 4,
  });
});
