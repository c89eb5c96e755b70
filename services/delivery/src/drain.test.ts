import { openSseReader } from "@reprise/testkit";
import { describe, expect, test } from "vitest";
import {
  append,
  authorization,
  call,
  completed,
  createGeneration,
  delta,
  deltas,
  openPlatform,
  REQUEST,
  started,
} from "./testing/platform.ts";
import { openRawConnection, rawGet } from "./testing/raw-connection.ts";

const headers = authorization();

const HOUR_MS = 3_600_000;

describe("a node that drains", () => {
  test("is not ready, refuses new work and says when to come back", async () => {
    await using platform = await openPlatform();
    const { url, opsUrl, delivery } = platform.node;
    const { path } = await createGeneration(platform);
    expect((await call(`${opsUrl}/readyz`)).json).toEqual({ status: "ready" });
    delivery.drain();
    expect(await call(`${opsUrl}/readyz`)).toMatchObject({
      status: 503,
      json: { status: "not_ready", because: ["draining"] },
    });
    expect((await call(`${opsUrl}/healthz`)).status).toBe(200);
    for (const [method, at] of [
      ["GET", path],
      ["GET", `${path}/events`],
      ["POST", `${path}/cancel`],
    ] as const) {
      const { status, headers: said, json } = await call(`${url}${at}`, { method });
      expect([at, status, said.get("retry-after")]).toEqual([at, 503, "1"]);
      expect(json).toMatchObject({ error: { code: "draining", retryable: true } });
    }
    expect((await call(`${url}/v1/generations`, { body: REQUEST })).status).toBe(503);
  });

  test("disconnects its readers, each with another retry delay, and loses none of their events", async () => {
    await using platform = await openPlatform();
    const other = await platform.addNode();
    const { path, worker } = await createGeneration(platform);
    await append(worker, started(), ...deltas(5));
    const open = (url: string, lastEventId = "") =>
      openSseReader(`${url}${path}/events`, { headers, lastEventId });
    const readers = await Promise.all(Array.from({ length: 20 }, () => open(platform.node.url)));
    for (const reader of readers) while (reader.frames.length < 6) await reader.nextFrame();
    const closing = platform.node.delivery.close();
    expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual(readers.map(() => "broken"));
    await closing;
    const delays = readers.map(({ bytes }) => Number(/\nretry: (\d+)\n$/.exec(bytes.toString())![1]));
    expect(new Set(delays).size).toBeGreaterThan(10);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(100);
    expect(Math.max(...delays)).toBeLessThanOrEqual(2_000);

    await append(worker, delta("after"), completed());
    const resumed = await Promise.all(readers.map(({ lastEventId }) => open(other.url, lastEventId)));
    await Promise.all(resumed.map(({ ended }) => ended));
    const all = readers.map(({ frames }, i) => [...frames, ...resumed[i]!.frames].map(({ id }) => id));
    expect(all).toEqual(readers.map(() => Array.from({ length: 8 }, (_, i) => `1-${i + 1}`)));
  });

  test("closes in bounded time despite a client that does not read and one that has sent half a request", async () => {
    await using platform = await openPlatform({ drainGraceMs: 300 });
    const { path, worker } = await createGeneration(platform);
    await using slow = await openSseReader(`${platform.node.url}${path}/events`, { headers });
    slow.pause();
    await append(worker, started(), ...Array.from({ length: 40 }, () => delta("x".repeat(300_000))));
    await using half = await openRawConnection(platform.node.url);
    half.send(rawGet(`${path}/events`, headers).slice(0, -2));
    // The slow client reads nothing meanwhile, so the grace alone ends this.
    await platform.node.delivery.close();
    slow.resume();
    expect(await slow.ended).toBe("broken");
    await half.ended;
  });

  test("lets a slow client have the rest of an answer", async () => {
    await using platform = await openPlatform({ drainGraceMs: HOUR_MS });
    const { path, worker } = await createGeneration(platform);
    const texts = Array.from({ length: 40 }, () => delta("x".repeat(300_000)));
    await append(worker, started(), ...texts, completed());
    const accept = "application/json";
    await using slow = await openSseReader(`${platform.node.url}${path}`, {
      headers: { ...headers, accept },
    });
    slow.pause();
    const closing = platform.node.delivery.close();
    // Whether it is answered or refused, the node has had the time to close what it takes for idle.
    await Promise.allSettled(Array.from({ length: 5 }, () => call(platform.node.url)));
    slow.resume();
    expect(await slow.ended).toBe("clean");
    expect(slow.bytes.length).toBeGreaterThan(12_000_000);
    await closing;
  });

  test("finishes what was begun", async () => {
    await using platform = await openPlatform({ drainGraceMs: HOUR_MS });
    const { url, delivery } = platform.node;
    await using idle = await openRawConnection(url);
    idle.send(rawGet("/", {}));
    await idle.until('"not_found"');
    const creates = Array.from({ length: 5 }, () => call(`${url}/v1/generations`, { body: REQUEST }));
    const first = await Promise.race(creates);
    const closing = delivery.close();
    expect(first.status).toBe(201);
    const others = await Promise.allSettled(creates);
    // Those that had arrived are answered; none is dropped half way.
    expect(others.map((result) => result.status)).toEqual(others.map(() => "fulfilled"));
    // The grace is an hour: this waits for no connection that only might carry another request.
    await closing;
    await idle.ended;
    await delivery.close();
  });
});
