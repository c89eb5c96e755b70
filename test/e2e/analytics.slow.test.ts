import { createHash } from "node:crypto";
import { isTerminal, type KnownEvent } from "@reprise/protocol";
import { expect, test } from "vitest";
import { type Cluster, type DeliveryProcess, startCluster } from "./testing/cluster.ts";

const OPERATOR_KEY = "ro_0123456789abcdef01234567";
const operatorHash = createHash("sha256").update(OPERATOR_KEY).digest("hex");
const isEnd = ({ type }: KnownEvent) => isTerminal(type);

interface Sums {
  readonly generations: number;
  readonly output_tokens: number;
  readonly output_tokens_kept: number;
}

interface UsageAnswer {
  readonly complete_until?: string | null;
  readonly data?: readonly (Sums & { readonly key: object })[];
}

async function askFor<T>({ url }: DeliveryProcess, path: string, key: string): Promise<T> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${key}` } });
  const body: unknown = await response.json();
  // Both processes of analytics may be gone for a moment.
  if (response.status === 503) return {} as T;
  expect([path, response.status, body]).toMatchObject([path, 200, {}]);
  return body as T;
}

async function usageOf(
  delivery: DeliveryProcess,
  key: string,
  by: string,
): Promise<readonly (Sums & { key: object })[]> {
  const { data = [] } = await askFor<UsageAnswer>(delivery, `/v1/usage?by=${by}`, key);
  return data;
}

async function create({ keys }: Cluster, { url }: DeliveryProcess, tenant: string, options: object) {
  const response = await fetch(`${url}/v1/generations`, {
    method: "POST",
    headers: { authorization: `Bearer ${keys[tenant]}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sim", input: "Go.", metadata: { plan: tenant }, options }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** What the bytes of logs say, counted without any code of analytics. */
async function recount(cluster: Cluster, tenant: string, ids: readonly string[]): Promise<Sums> {
  let [produced, kept] = [0, 0];
  for (const id of ids) {
    const events = (await cluster.readLog(tenant, id)).map((text) => JSON.parse(text) as KnownEvent);
    let counted: { seq: number; tokens: number }[] = [];
    for (const [seq, event] of events.entries()) {
      if (event.type === "output.delta") {
        const tokens = event.tokens ?? 1;
        produced += tokens;
        counted.push({ seq, tokens });
      } else if (event.type === "output.rewind") counted = counted.filter((one) => one.seq <= event.to_seq);
    }
    kept += counted.reduce((sum, { tokens }) => sum + tokens, 0);
  }
  return { generations: ids.length, output_tokens: produced, output_tokens_kept: kept };
}

test("what analytics answers is what logs say, for completed, cancelled and taken-over generations, though its processes are killed", async () => {
  await using cluster = await startCluster({ tenants: ["acme", "beta"], ackWaitMs: 5_000 });
  const env = { REPRISE_ANALYTICS_KEYS: "plan" };
  const [delivery, one, other, first] = await Promise.all([
    cluster.startDelivery({ REPRISE_OPERATOR_KEY_SHA256: operatorHash }),
    cluster.startWorker(),
    cluster.startWorker(),
    cluster.startAnalytics(env),
    cluster.startAnalytics(env),
  ]);
  const ids: Record<string, string[]> = { acme: [], beta: [] };
  // It goes on for longer than the test takes to kill its worker.
  const longest = await create(cluster, delivery, "acme", { tokens: 1_200, tokens_per_second: 60 });
  ids["acme"]?.push(longest);
  for (const tenant of ["acme", "beta"])
    for (let i = 0; i < 5; i++)
      ids[tenant]?.push(await create(cluster, delivery, tenant, { tokens: 120, tokens_per_second: 60 }));
  const begun = await cluster.untilLog("acme", longest, (log) => log.length > 3);
  const runs = begun.find((event) => event.type === "generation.started")?.worker;
  const worker = runs === one.id ? one : other;
  for (const service of [worker, first]) service.kill("SIGKILL");
  const cancelled = await create(cluster, delivery, "beta", { tokens: 10_000, tokens_per_second: 50 });
  ids["beta"]?.push(cancelled);
  await cluster.untilLog("beta", cancelled, (log) => log.length > 3);
  await fetch(`${delivery.url}/v1/generations/${cancelled}/cancel`, {
    method: "POST",
    headers: { authorization: `Bearer ${cluster.keys["beta"]}` },
  });
  await cluster.startAnalytics(env);
  for (const [tenant, list] of Object.entries(ids))
    for (const id of list) await cluster.untilLog(tenant, id, (log) => log.some(isEnd));

  const ended = new Date().toISOString();
  for (const tenant of ["acme", "beta"]) {
    const expected = await recount(cluster, tenant, ids[tenant] ?? []);
    // The first answer that says it is complete until then has all of it, though lanes move between processes.
    let whole: UsageAnswer = {};
    const completeUntil = async () => {
      whole = await askFor<UsageAnswer>(delivery, "/v1/usage?by=metadata.plan", cluster.keys[tenant] ?? "");
      return (whole.complete_until ?? "") >= ended;
    };
    await expect.poll(completeUntil).toBe(true);
    expect(whole.data).toMatchObject([{ key: { "metadata.plan": tenant }, ...expected }]);
  }
  const all = await usageOf(delivery, OPERATOR_KEY, "tenant");
  const tenants = all.map(({ key }) => key);
  expect(tenants).toHaveLength(2);
  expect(tenants).toEqual(expect.arrayContaining([{ tenant: "acme" }, { tenant: "beta" }]));
  const beta = cluster.keys["beta"] ?? "";
  expect(await askFor(delivery, "/v1/analytics/summary?status=cancelled", beta)).toMatchObject({
    data: [{ generations: 1, cancelled: 1 }],
  });
  const { data } = await askFor<{ data: { id: string; takeovers: object }[] }>(
    delivery,
    "/v1/analytics/generations",
    cluster.keys["acme"] ?? "",
  );
  expect(data.map(({ id }) => id).toSorted()).toEqual((ids["acme"] ?? []).toSorted());
  expect(data.some(({ takeovers }) => Object.keys(takeovers).length > 0)).toBe(true);
});
