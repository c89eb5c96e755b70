import { METRICS } from "@reprise/runtime";
import { openSseReader } from "@reprise/testkit";
import { expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  openPlatform,
  started,
} from "./testing/platform.ts";

test("health and metrics are not beside the API", async () => {
  await using platform = await openPlatform();
  for (const path of ["/healthz", "/readyz", "/metrics"])
    expect((await call(`${platform.node.url}${path}`)).status).toBe(404);
});

test("metrics count what was delivered, in the form of Prometheus, and name no tenant", async () => {
  await using platform = await openPlatform();
  const { path, worker } = await createGeneration(platform);
  const url = `${platform.node.url}${path}/events`;
  await append(worker, started(), completed());
  for (let i = 0; i < 3; i++) await (await openSseReader(url, { headers: authorization() })).ended;
  await using open = await openSseReader(url.replace(path, (await createGeneration(platform)).path), {
    headers: authorization(),
  });

  expect(open.status).toBe(200);
  const { status, headers, text } = await call(`${platform.node.opsUrl}/metrics`);
  expect([status, headers.get("content-type")]).toEqual([
    200,
    expect.stringMatching(/^text\/plain; version=/),
  ]);
  const values = async () => {
    const said = (await call(`${platform.node.opsUrl}/metrics`)).text.matchAll(/^(reprise_\w+) (\S+)$/gm);
    return Object.fromEntries([...said].map(([, name, value]) => [name, Number(value)]));
  };
  await expect.poll(values).toEqual({
    reprise_readers: 1,
    reprise_events_delivered_total: 6,
    reprise_readers_fallen_back_total: 0,
    reprise_reader_marks_lost_total: 0,
    // Nothing here is served by TLS.
    reprise_certificate_expires_timestamp_seconds: Number.NaN,
    reprise_connections_refused_total: 0,
    reprise_requests_refused_total: 0,
    reprise_limits_local: 0,
    reprise_budget_ledger_errors_total: 0,
    reprise_request_bytes: 0,
    reprise_blob_transfers: 0,
    reprise_conversations_expired_total: 0,
    reprise_malformed_messages_total: 0,
    reprise_repairs_total: expect.any(Number),
    reprise_hub_memory_bytes: expect.any(Number),
    reprise_hub_generations: 2,
    reprise_moderation_lag_seconds_sum: 0,
    reprise_moderation_lag_seconds_count: 0,
    reprise_moderation_lag_characters_sum: 0,
    reprise_moderation_lag_characters_count: 0,
  });
  const names = Object.keys(values).map((name) => name.replace(/_(sum|count)$/, ""));
  expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(names));
  expect(text).not.toMatch(/acme|gen_/);
});
