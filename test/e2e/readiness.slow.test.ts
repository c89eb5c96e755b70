import { type ServiceProcess, startRedis } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const OPS = { REPRISE_OPS_PORT: "0" };
const WARNING: ReadonlySet<unknown> = new Set(["warn", "error", "fatal"]);
const GONE = "the broker takes no appends";
const BACK = "the broker takes appends again";

/** Log lines of a service about the broker's absence and return, and every other warning. */
function toldBy({ lines }: ServiceProcess): unknown[] {
  return lines.filter(({ level, msg }) => WARNING.has(level) || msg === BACK).map(({ msg }) => msg);
}

test("without its broker a process is alive and not ready, and ready again once that is back: one line each", async () => {
  await using cluster = await startCluster();
  const [delivery, worker, moderation, auditLog] = await Promise.all([
    cluster.startDelivery(),
    cluster.startWorker(OPS),
    cluster.startModeration(OPS),
    cluster.startAuditLog(),
  ]);
  const services = [delivery, worker, moderation, auditLog];
  const ops = await Promise.all([
    worker.logged("taking jobs"),
    moderation.logged("judging"),
    auditLog.logged("archiving"),
  ]);
  const urls = [delivery.opsUrl, ...ops.map((line) => String(line["ops"]))];
  const statusesOf = (path: string) => Promise.all(urls.map(async (url) => (await fetch(url + path)).status));
  const all = (status: number) => urls.map(() => status);
  expect(await statusesOf("/healthz")).toEqual(all(200));
  await expect.poll(() => statusesOf("/readyz")).toEqual(all(200));
  await cluster.server.kill("SIGKILL");
  await expect.poll(() => statusesOf("/readyz")).toEqual(all(503));
  expect(await statusesOf("/healthz")).toEqual(all(200));
  // Shorter absences have no line.
  await Promise.all(services.map((service) => service.logged(GONE)));
  await cluster.server.restart();
  await expect.poll(() => statusesOf("/readyz")).toEqual(all(200));
  await Promise.all(services.map((service) => service.logged(BACK)));
  expect(services.map(toldBy)).toEqual(services.map(() => [GONE, BACK]));
});

test("a delivery node whose port is taken ends, although it is connected to Redis", async () => {
  await using cluster = await startCluster();
  const { url } = await cluster.startDelivery();
  await using redis = await startRedis();
  const second = cluster.startDelivery({ REPRISE_PORT: new URL(url).port, REPRISE_REDIS_URL: redis.url });
  await expect(second).rejects.toThrow(/EADDRINUSE.*: set REPRISE_PORT to another port/);
});
