import { createClient, type StreamEvent } from "@reprise/client";
import { createTempDir, startTcpProxy, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { startPlatform } from "./testing/platform.ts";

const REQUEST = {
  model: "sim",
  input: "Tell me a story.",
  options: { tokens: 200, tokens_per_second: 100, seed: 5 },
};
/** A third of the stream, however few events a slow worker's text comes in, and little more than its head. */
const SHORT_LIFE_BYTES = 600;
const SHORT_LIVES = 3;
const LIFE_BYTES = 4_000;
/** A few events are enough to be in the middle: a slow worker's text may come in few. */
const MIDDLE = 3;
/** A client that comes back at once: the tests are about what it sees, not about its patience. */
const EAGER = { baseDelayMs: 1, maxDelayMs: 20 };

test("an SDK whose connection is cut again and again sees what an undisturbed reader sees", async () => {
  await withSeed(20_261_121, async (random) => {
    await using dir = await createTempDir("resume");
    await using platform = await startPlatform(dir.path);
    await using proxy = await startTcpProxy({
      target: { port: Number(new URL(platform.url).port) },
      faults: (index) => ({
        toClient: { cutAfterBytes: random.integer(0, index < SHORT_LIVES ? SHORT_LIFE_BYTES : LIFE_BYTES) },
      }),
    });
    const { apiKey } = platform;
    const url = `http://${proxy.host}:${proxy.port}`;
    const request = { ...REQUEST, options: { ...REQUEST.options, tokens: 120 } };
    const stream = createClient({ url, apiKey, retry: EAGER }).generations.run(request);
    const events: StreamEvent[] = [];
    for await (const event of stream) events.push(event);

    const direct: StreamEvent[] = [];
    const generations = createClient(platform).generations;
    for await (const event of generations.stream(stream.id!)) direct.push(event);
    expect(events).toEqual(direct);
    expect(stream.status).toBe("completed");
    expect(stream.reconnects).toBeGreaterThan(2);
  });
});

test("a generation that is followed on one node is resumed on another, which never met its reader", async () => {
  await using cluster = await startCluster();
  const [near, far] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startWorker(),
  ]);
  const apiKey = cluster.keys["acme"]!;
  const first = createClient({ url: near.url, apiKey }).generations.run(REQUEST);
  const events: StreamEvent[] = [];
  for await (const event of first) {
    events.push(event);
    if (events.length === MIDDLE) break;
  }
  near.kill("SIGKILL");
  const second = createClient({ url: far.url, apiKey }).generations.stream(first.id!, {
    after: first.cursor,
  });
  for await (const event of second) events.push(event);
  const [, ...stored] = await cluster.readLog("acme", first.id!);
  expect(events.map((event) => JSON.stringify(event))).toEqual(stored);
  expect(second.status).toBe("completed");
});
