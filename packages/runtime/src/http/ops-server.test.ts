import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";
import { createOpsHandler, isOpsPath, startOpsServer } from "./ops-server.ts";

const LOCAL = { host: "127.0.0.1", port: 0 };

function source(reasons: readonly string[] = []) {
  return { metrics: createMetrics({ processMetrics: false }), notReadyBecause: () => reasons };
}

test("a process that can take work is alive and ready", async () => {
  await using server = await startOpsServer(createOpsHandler(source()), LOCAL);
  const [health, ready] = await Promise.all([
    fetch(`${server.url}/healthz`),
    fetch(`${server.url}/readyz?verbose`),
  ]);
  expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
  expect([ready.status, await ready.json()]).toEqual([200, { status: "ready" }]);
  const head = await fetch(`${server.url}/healthz`, { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
});

test("no page may read an answer, whatever it is", async () => {
  await using server = await startOpsServer(createOpsHandler(source()), LOCAL);
  for (const path of ["/healthz", "/readyz", "/metrics", "/"]) {
    for (const method of ["GET", "OPTIONS", "POST"]) {
      const headers = { origin: "https://app.example", "access-control-request-method": "GET" };
      const answer = await fetch(`${server.url}${path}`, { method, headers });
      await answer.text();
      const names = [...answer.headers.keys()].filter((name) => name.startsWith("access-control-"));
      expect([names, answer.headers.get("x-content-type-options")]).toEqual([[], "nosniff"]);
    }
  }
});

test("a process that can't take work is alive, not ready, and says why", async () => {
  await using server = await startOpsServer(
    createOpsHandler(source(["not connected to NATS", "draining"])),
    LOCAL,
  );
  const [health, ready] = await Promise.all([fetch(`${server.url}/healthz`), fetch(`${server.url}/readyz`)]);
  expect(health.status).toBe(200);
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: "not_ready", because: ["not connected to NATS", "draining"] },
  ]);
});

test("a scrape gets the metrics in Prometheus' format", async () => {
  const { metrics, notReadyBecause } = source();
  metrics.gauge("reprise_readers").set(5);
  await using server = await startOpsServer(createOpsHandler({ metrics, notReadyBecause }), LOCAL);
  const answer = await fetch(`${server.url}/metrics`);
  expect(answer.headers.get("content-type")).toContain("text/plain; version=0.0.4");
  expect(await answer.text()).toContain("\nreprise_readers 5\n");
});

test("other paths and methods are refused", async () => {
  await using server = await startOpsServer(createOpsHandler(source()), LOCAL);
  const [unknown, post] = await Promise.all([
    fetch(`${server.url}/v1`),
    fetch(`${server.url}/metrics`, { method: "POST" }),
  ]);
  expect([unknown.status, post.status, post.headers.get("allow")]).toEqual([404, 405, "GET, HEAD"]);
  expect([isOpsPath("/metrics"), isOpsPath("/metrics/"), isOpsPath("toString")]).toEqual([
    true,
    false,
    false,
  ]);
});

test("a scrape that fails is a 500, and the server lives on", async () => {
  const handler = createOpsHandler({
    ...source(),
    notReadyBecause: () => {
      throw new Error("broken");
    },
  });
  await using server = await startOpsServer(handler, LOCAL);
  const broken = await fetch(`${server.url}/readyz`);
  const health = await fetch(`${server.url}/healthz`);
  expect([broken.status, await broken.text(), health.status]).toEqual([500, "", 200]);
});

test("a port that is taken is an error, not a silent absence", async () => {
  await using server = await startOpsServer(createOpsHandler(source()), LOCAL);
  const second = startOpsServer(createOpsHandler(source()), {
    host: "127.0.0.1",
    port: Number(new URL(server.url).port),
  });
  await expect(second).rejects.toMatchObject({
    code: "config_invalid",
    param: "REPRISE_OPS_PORT",
    message: expect.stringMatching(/EADDRINUSE.*: set REPRISE_OPS_PORT to another port/),
    cause: { code: "EADDRINUSE" },
  });
});
