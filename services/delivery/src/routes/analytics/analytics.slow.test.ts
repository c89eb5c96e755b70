import { ANALYTICS_CANCEL_SUBJECT, RepriseError } from "@reprise/protocol";
import { expect, test } from "vitest";
import { startFakeAnalytics } from "../../testing/fake-analytics.ts";
import { call, KEYS, openPlatform } from "../../testing/platform.ts";

const DAY = "from=2026-11-20T00:00:00Z&to=2026-11-21T00:00:00Z";

async function openAsked(answer: () => object | Promise<object> = () => ({ object: "x" })) {
  const platform = await openPlatform({ liveTenants: true });
  return { platform, asked: await startFakeAnalytics(platform.broker, answer), url: platform.node.url };
}

test("a key asks for its own tenant alone, and the operator for all or for one", async () => {
  const { platform, asked, url } = await openAsked();
  await using _ = platform;
  const mine = await call(`${url}/v1/usage?${DAY}&by=model,day`, { key: KEYS.acmeAnalyst });
  expect([mine.status, mine.json, mine.headers.get("cache-control")]).toEqual([
    200,
    { object: "x" },
    "no-store",
  ]);
  await call(`${url}/v1/usage?${DAY}`, { key: KEYS.operator });
  await call(`${url}/v1/usage?${DAY}&tenant=beta`, { key: KEYS.operator });
  expect(asked.map(({ request }) => (request as { tenant: unknown }).tenant)).toEqual(["acme", null, "beta"]);
  const foreign = await call(`${url}/v1/usage?tenant=beta`, { key: KEYS.acmeAnalyst });
  expect([foreign.status, foreign.json]).toMatchObject([400, { error: { param: "tenant" } }]);
  expect(asked).toHaveLength(3);
});

test("what narrows, groups and aims is passed on, and without times the last day is asked for", async () => {
  const { platform, asked, url } = await openAsked();
  await using _ = platform;
  const key = KEYS.acmeAnalyst;
  await call(
    `${url}/v1/analytics/summary?${DAY}&by=model,metadata.plan&limit=7&model=sim&status=failed&metadata[plan]=gold&target_first_ms=300`,
    { key },
  );
  await call(`${url}/v1/analytics/timeseries?step=1h&by=status`, { key });
  await call(`${url}/v1/analytics/generations?limit=3&after=abc`, { key });
  await call(`${url}/v1/analytics/budget?target_ms=250&quantile=0.99&tokens=8`, { key });
  expect(asked).toMatchObject([
    {
      call: "summary",
      request: {
        tenant: "acme",
        from: "2026-11-20T00:00:00Z",
        to: "2026-11-21T00:00:00Z",
        model: "sim",
        status: "failed",
        metadata: { plan: "gold" },
        by: ["model", "metadata.plan"],
        limit: 7,
        target_first_ms: 300,
      },
    },
    { call: "timeseries", request: { step: "1h", by: ["status"] } },
    { call: "generations", request: { limit: 3, after: "abc" } },
    { call: "budget", request: { target_ms: 250, quantile: 0.99, tokens: 8 } },
  ]);
  const { from, to } = (asked[1]?.request ?? {}) as { from: string; to: string };
  expect(Date.parse(to) - Date.parse(from)).toBe(86_400_000);
});

test.each([
  ["usage", "by=password", "by"],
  ["usage", "by=model,model", "by"],
  ["usage", "by=model,day,code,reason", "by"],
  ["usage", "by=metadata.", "by"],
  ["usage", "limit=0", "limit"],
  ["usage", "limit=201", "limit"],
  ["usage", "from=yesterday", "from"],
  ["usage", "from=2026-11-20T00:00:00Z&to=2026-11-20T00:00:00Z", "to"],
  ["usage", "status=open", "status"],
  ["usage", "step=1h", "step"],
  ["usage", "metadata[]=x", "metadata[]"],
  ["usage", "metadata[__proto__]=x", "metadata[__proto__]"],
  ["analytics/timeseries", "step=7m", "step"],
  ["analytics/timeseries", "by=model,day", "by"],
  ["analytics/budget", "class=fast", "class"],
  ["analytics/generations", "generation=mine", "generation"],
  ["analytics/summary", "generation=gen_0_00000000000000000000000000", "generation"],
  ["analytics/budget", "quantile=1", "quantile"],
  ["analytics/budget", "quantile=0.5", "quantile"],
  ["usage", "from=2999-01-01T00:00:00Z", "from"],
  ["analytics/summary", "target_first_ms=-1", "target_first_ms"],
])("%s?%s is refused, and names the parameter", async (path, query, param) => {
  const { platform, asked, url } = await openAsked();
  await using _ = platform;
  const { status, json } = await call(`${url}/v1/${path}?${query}`, { key: KEYS.acmeAnalyst });
  expect([status, json]).toMatchObject([400, { error: { code: "invalid_request", param } }]);
  expect(asked).toEqual([]);
});

test("a value that is none of those that there are is answered with these", async () => {
  const { platform, url } = await openAsked();
  await using _ = platform;
  const { json } = await call(`${url}/v1/analytics/timeseries?step=7m`, { key: KEYS.acmeAnalyst });
  expect(json).toMatchObject({ error: { message: "step: must be one of 1m, 5m, 15m, 1h, 1d" } });
});

test("a key that has lost the role while analytics answered is shown nothing", async () => {
  let revoke = async () => {};
  const { platform, url } = await openAsked(async () => {
    await revoke();
    return { secret: 1 };
  });
  await using _ = platform;
  const admin = (path: string, options: object) =>
    call(`${url}/v1/admin/tenants/acme${path}`, { key: KEYS.operator, ...options });
  const { json } = await admin("/keys", { body: { name: "once", roles: ["usage"] } });
  const { id, secret } = json as { id: string; secret: string };
  revoke = async () => void (await admin(`/keys/${id}`, { method: "DELETE" }));
  const answer = await call(`${url}/v1/usage`, { key: secret });
  expect([answer.status, answer.text]).toEqual([401, expect.not.stringContaining('secret":1')]);
});

test("what analytics refuses is the answer, and without analytics the call says so", async () => {
  const { platform, url } = await openAsked(() =>
    Promise.reject(new RepriseError("invalid_request", "step: too many.", { param: "step" })),
  );
  await using _ = platform;
  expect((await call(`${url}/v1/analytics/timeseries`, { key: KEYS.acmeAnalyst })).json).toMatchObject({
    error: { code: "invalid_request", param: "step" },
  });
  await using alone = await openPlatform();
  const { status, json, headers } = await call(`${alone.node.url}/v1/usage`, { key: KEYS.acmeAnalyst });
  expect([status, json, headers.get("retry-after")]).toMatchObject([
    503,
    { error: { code: "analytics_unavailable", retryable: true } },
    "1",
  ]);
});

test("a caller that hangs up is told to analytics, and one that has its answer is not", async () => {
  const begun = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<object>();
  const { platform, url } = await openAsked(() => {
    begun.resolve();
    return answer.promise;
  });
  await using _ = platform;
  const { main } = platform.broker;
  const told: string[] = [];
  const first = Promise.withResolvers<void>();
  main.subscribe(ANALYTICS_CANCEL_SUBJECT, {
    callback: (_error, msg) => {
      told.push(msg.string());
      first.resolve();
    },
  });
  await main.flush();
  const gone = new AbortController();
  const headers = { authorization: `Bearer ${KEYS.acmeAnalyst}` };
  const asked = fetch(`${url}/v1/usage?${DAY}`, { headers, signal: gone.signal });
  await begun.promise;
  gone.abort();
  await expect(asked).rejects.toThrow();
  await first.promise;
  answer.resolve({ object: "x" });
  expect((await call(`${url}/v1/usage?${DAY}`, { key: KEYS.acmeAnalyst })).status).toBe(200);
  await main.flush();
  expect(told).toHaveLength(1);
});
