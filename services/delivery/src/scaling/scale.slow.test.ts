import { type Job, openBroker, pullJobs } from "@reprise/log";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  authorization,
  call,
  createGeneration,
  KEYS,
  openPlatform,
  type Platform,
} from "../testing/platform.ts";

/** The model of requests that name none of their own. */
const MODEL = "sim";
const operator = authorization(KEYS.operator);

interface Answer {
  readonly at: string;
  readonly models: readonly Readonly<Record<string, unknown>>[];
  readonly delivery: Readonly<Record<string, unknown>>;
}

async function ask({ node }: Pick<Platform, "node">): Promise<Answer> {
  const { status, text } = await call(`${node.url}/v1/ops/scale`, { headers: operator });
  expect([status, text]).toEqual([200, expect.anything()]);
  return JSON.parse(text) as Answer;
}

async function metricsOf({ node }: Pick<Platform, "node">): Promise<Record<string, string>> {
  const { text } = await call(`${node.opsUrl}/metrics`);
  const lines = text.matchAll(/^(reprise_(?:wanted|queue)_\w+(?:\{[^}]*\})?) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

test("the operator is told what waits, what runs, and how many workers and nodes are wanted; so is Prometheus", async () => {
  await using platform = await openPlatform({
    liveTenants: true,
    scaling: {
      workers: {
        target: { waitMs: 500, share: 0.95 },
        drainMs: 60_000,
        coldStartMs: 0,
        headroom: 0.1,
        serviceMs: 60_000,
        slots: 2,
        min: 0,
        max: 10,
        stabilisationMs: 300_000,
      },
      delivery: { readersPerNode: 1, cpu: 1_000, min: 1, max: 10, stabilisationMs: 300_000 },
    },
  });
  const second = await platform.addNode({ liveTenants: true });
  const made = [];
  for (let i = 0; i < 5; i++) made.push(await createGeneration(platform));
  await expect
    .poll(async () => (await ask(platform)).models[0], { interval: 500 })
    .toMatchObject({
      model: MODEL,
      queued: 5,
      workers: 0,
      slots: 0,
      running: 0,
      slots_per_worker: 2,
      slots_for_backlog: 5,
      wanted_workers: 3,
      because: "backlog",
    });
  expect((await ask(platform)).models[0]!["oldest_ms"]).toBeGreaterThan(0);

  await using worker = await openBroker({
    url: platform.server.url,
    name: "worker",
    shards: 2,
    replicas: 1,
    retentionMs: 3_600_000,
    onError: (error) => expect.unreachable(String(error)),
  });
  const jobs: Job[] = [];
  const end = Promise.withResolvers<void>();
  const puller = await pullJobs({
    connection: worker.bulk,
    model: MODEL,
    slots: 2,
    ackWaitMs: 60_000,
    onError: (error) => expect.unreachable(String(error)),
    async run(job) {
      jobs.push(job);
      await end.promise;
    },
  });
  await using one = await openSseReader(`${platform.node.url}${made[0]!.path}/events`, {
    headers: authorization(),
  });
  await using two = await openSseReader(`${second.url}${made[0]!.path}/events`, { headers: authorization() });
  expect([one.status, two.status]).toEqual([200, 200]);
  await expect
    .poll(() => ask(platform), { interval: 500 })
    .toMatchObject({
      models: [{ model: MODEL, queued: 3, workers: 1, slots: 2, running: 2 }],
      delivery: { nodes: 2, readers: 2, wanted_nodes: 2, because: "readers" },
    });
  const told = await ask(platform);
  expect(
    Number((await metricsOf(platform))[`reprise_queue_oldest_seconds{model="${MODEL}"}`]),
  ).toBeGreaterThan(0);
  expect(await metricsOf(platform)).toEqual({
    [`reprise_queue_jobs{model="${MODEL}"}`]: "3",
    [`reprise_queue_oldest_seconds{model="${MODEL}"}`]: expect.any(String),
    [`reprise_wanted_workers{model="${MODEL}"}`]: String(told.models[0]!["wanted_workers"]),
    reprise_wanted_delivery_nodes: "2",
  });
  // The other node observes the same, and plans by its own settings.
  await expect
    .poll(async () => (await ask({ node: second })).models[0], { interval: 500 })
    .toMatchObject({ queued: 3, running: 2 });
  end.resolve();
  puller.stop();
});

test("while the broker is away no plan of before is told, and afterwards a new one", async () => {
  let problems: readonly string[] = [];
  const brokerWatch = { because: () => problems, onStale() {}, lastStreamSeq: () => undefined };
  await using platform = await openPlatform({ liveTenants: true, brokerWatch });
  const { at } = await ask(platform);
  problems = ["the broker does not answer"];
  const refused = await call(`${platform.node.url}/v1/ops/scale`, { headers: operator });
  expect(refused.status).toBe(503);
  expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "broker_unavailable", retryable: true } });
  expect(await metricsOf(platform)).toEqual({ reprise_wanted_delivery_nodes: "Nan" });
  problems = [];
  await expect
    .poll(async () => (await call(`${platform.node.url}/v1/ops/scale`, { headers: operator })).status, {
      interval: 500,
    })
    .toBe(200);
  expect(Date.parse((await ask(platform)).at)).toBeGreaterThan(Date.parse(at));
});

test("before anything is known nothing is told: the metric is absent, and NaN", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  expect(await metricsOf(platform)).toEqual({ reprise_wanted_delivery_nodes: "Nan" });
});

test("an admin of a tenant, and a key of one, are refused", async () => {
  await using platform = await openPlatform({ liveTenants: true });
  const answers = await Promise.all(
    [KEYS.acme, KEYS.acmeAdmin].map((key) =>
      call(`${platform.node.url}/v1/ops/scale`, { headers: authorization(key) }),
    ),
  );
  for (const { status, text } of answers) {
    expect(status).toBe(403);
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: "forbidden",
        message: "Only the operator asks how many workers and nodes are wanted.",
      },
    });
  }
  expect((await call(`${platform.node.url}/v1/ops/scale?model=sim`, { headers: operator })).status).toBe(400);
});
