import { Writable } from "node:stream";
import { RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startFakeAnalytics } from "../testing/fake-analytics.ts";
import { call, KEYS, openPlatform } from "../testing/platform.ts";
import { EXIT } from "./command.ts";
import { runCommand } from "./run-command.ts";

const KEY = "rk_spender_0123456789abcdef";
const SPENDER = {
  id: "spender",
  keys: [{ secret: KEY, roles: ["create", "admin"] }],
  budgets: [
    { name: "tokens", unit: "tokens", limit: 1_000, period: "hour" },
    { name: "eur", unit: "money", currency: "EUR", limit: "5", period: "hour" },
  ],
};

/** A platform in which analytics says the same of each range, and a shell that asks as the operator. */
async function openShell(answer: () => object | Promise<object>) {
  const platform = await openPlatform({ liveTenants: true, moreTenants: [SPENDER] });
  const asked = await startFakeAnalytics(platform.broker, answer);
  const run = async (...args: string[]) => {
    const texts = { out: "", err: "" };
    const sink = (name: keyof typeof texts) =>
      new Writable({
        write(chunk: Buffer, _encoding, callback) {
          texts[name] += chunk.toString();
          callback();
        },
      });
    const env = { REPRISE_URL: platform.node.url, REPRISE_ADMIN_KEY: KEYS.operator };
    const code = await runCommand(args, { out: sink("out"), err: sink("err"), env });
    return { code, ...texts };
  };
  return { platform, asked, run };
}

const USED = {
  data: [{ input_tokens: 300, output_tokens: 650, cost: { EUR: "1.2500000001", USD: "9" }, unpriced: 2 }],
};
const costs = new Map([
  ["sim", { models: ["sim"], prices: { sim: { currency: "EUR", input: "1", output: "1" } } }],
]);

test("budgets are told what analytics has rows of in their period, and then refuse what does not fit", async () => {
  const { platform, asked, run } = await openShell(() => USED);
  await using _ = platform;
  const { url, delivery } = platform.node;
  delivery.setNames({ models: new Set(["sim"]), costs });
  const body = { model: "sim", input: "x".repeat(200) };
  expect((await call(`${url}/v1/generations`, { key: KEY, body })).status).toBe(201);
  const { code, out } = await run("budgets", "seed", "--all", "--json");
  expect(code).toBe(EXIT.fine);
  expect(JSON.parse(out)).toMatchObject([
    { tenant: "spender", name: "tokens", limit: "1000 tokens", used_before: "0 tokens", used: "950 tokens" },
    // Rounded up.
    {
      tenant: "spender",
      name: "eur",
      limit: "5 EUR",
      used_before: "0 EUR",
      used: "1.250000001 EUR",
      unpriced: 2,
    },
  ]);
  const refused = await call(`${url}/v1/generations`, { key: KEY, body });
  expect([refused.status, refused.json]).toMatchObject([429, { error: { param: "tokens" } }]);
  // Again, it counts nothing twice.
  expect((await run("budgets", "seed", "spender")).out).toMatch(
    /^spender +tokens .* 950 tokens +950 tokens +0$/m,
  );
  const request = asked[0]?.request as { tenant: string; from: string; to: string };
  expect(request).toMatchObject({ tenant: "spender", from: expect.stringMatching(/:00:00\.000Z$/) });
  expect(Date.parse(request.to) - Date.parse(request.from)).toBeLessThanOrEqual(3_600_000);
});

test("a budget without periods is asked for day by day, and one within it counts its own part", async () => {
  const { platform, asked, run } = await openShell(() => USED);
  await using _ = platform;
  const at = { admin: `${platform.node.url}/v1/admin/tenants/spender/policy`, key: KEYS.operator };
  const budgets = [
    { name: "all", unit: "tokens", limit: 1_000_000, period: "total" },
    { name: "day", unit: "tokens", limit: 1_000_000, period: "day" },
  ];
  const body = { policy: {}, audit: {}, budgets };
  expect((await call(at.admin, { method: "PUT", key: at.key, body })).status).toBe(200);
  const { out } = await run("budgets", "seed", "spender", "--json");
  const [all, day] = JSON.parse(out) as { used: string }[];
  const ranges = asked.map(({ request }) => request as { from: string; to: string });
  expect(ranges.every(({ from, to }) => Date.parse(to) - Date.parse(from) <= 86_400_000)).toBe(true);
  expect(ranges.slice(1).map(({ from }) => from)).toEqual(ranges.slice(0, -1).map(({ to }) => to));
  expect([all?.used, day?.used]).toEqual([`${950 * ranges.length} tokens`, "950 tokens"]);
});

test("only the operator seeds, and nothing is told to a budget when analytics does not answer", async () => {
  const { platform, run } = await openShell(() => {
    throw new RepriseError("archive_unavailable", "Rows can't be read.");
  });
  await using _ = platform;
  const path = `${platform.node.url}/v1/admin/tenants/spender/budgets/seed`;
  const refused = await call(path, { key: KEY, body: {} });
  expect([refused.status, refused.json]).toMatchObject([403, { error: { code: "forbidden" } }]);
  const { code, err } = await run("budgets", "seed", "spender");
  expect([code, err]).toEqual([EXIT.unknown, expect.stringContaining("Rows can't be read.")]);
});
