import type { EventPage } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  openPlatform,
  started,
} from "../testing/platform.ts";

const headers = { accept: "application/json" };

describe("pages", () => {
  test("of any size add up to the log, and the last one says so", async () => {
    await using platform = await openPlatform();
    const { path, worker, ref } = await createGeneration(platform);
    await append(worker, started(), ...deltas(23), completed());
    const { events } = await platform.log.reader.readLog(ref);
    const log = events.slice(1).map((payload) => JSON.parse(Buffer.from(payload).toString()) as unknown);
    for (const limit of [1, 7, 25, 1_000]) {
      const seen: unknown[] = [];
      let page: EventPage = { object: "list", events: [], cursor: "", ended: false };
      while (!page.ended) {
        const {
          status,
          json,
          headers: said,
        } = await call(`${platform.node.url}${path}/events?after=${page.cursor}&limit=${limit}`, { headers });
        expect([status, said.get("cache-control")]).toEqual([200, "no-store"]);
        page = json as EventPage;
        expect(page.events.length).toBeLessThanOrEqual(limit);
        seen.push(...page.events);
      }
      expect(seen).toEqual(log);
    }
  });

  test("come from the log when the hub has let go of the events", async () => {
    await using platform = await openPlatform({ hubBytes: 1 });
    const { path, worker } = await createGeneration(platform);
    const long = "x".repeat(10_000);
    await append(worker, started(), ...Array.from({ length: 100 }, () => delta(long)), completed());
    const seen: unknown[] = [];
    for (let cursor = "", ended = false; !ended;) {
      const { json } = await call(`${platform.node.url}${path}/events?after=${cursor}&limit=9`, { headers });
      const page = json as EventPage;
      seen.push(...page.events);
      ({ cursor, ended } = page);
    }
    expect(seen).toHaveLength(102);
  });

  test("of nothing are answered at once, unless they are to wait", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const url = `${platform.node.url}${path}/events`;
    const empty = { object: "list", events: [], cursor: "0-0", ended: false };
    expect((await call(url, { headers })).json).toEqual(empty);
    expect((await call(`${url}?wait=50`, { headers })).json).toEqual(empty);
  });

  test("that wait are answered by the first event", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    const waiting = call(`${platform.node.url}${path}/events?wait=30000`, { headers });
    await append(worker, started());
    const { json } = await waiting;
    expect(json).toMatchObject({
      events: [{ seq: 1, type: "generation.started" }],
      cursor: "1-1",
      ended: false,
    });
  });

  test("do not wait for what will never come", async () => {
    await using platform = await openPlatform();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), completed());
    const { json } = await call(`${platform.node.url}${path}/events?after=1-2&wait=30000`, { headers });
    expect(json).toEqual({ object: "list", events: [], cursor: "1-2", ended: true });
  });

  test("that wait are answered when the node drains", async () => {
    await using platform = await openPlatform();
    const { path } = await createGeneration(platform);
    const waiting = call(`${platform.node.url}${path}/events?wait=30000`, { headers });
    await expect
      .poll(async () => (await call(`${platform.node.opsUrl}/metrics`)).text)
      .toContain("\nreprise_hub_generations 1\n");
    platform.node.delivery.drain();
    const { status, json } = await waiting;
    expect([status, json]).toMatchObject([200, { events: [], ended: false }]);
  });
});
