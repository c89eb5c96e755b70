import { createClient } from "@reprise/client";
import { inputOf } from "@reprise/client/input";
import { overSocket } from "@reprise/client/socket";
import { startTcpProxy, withSeed } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

/* The SDK over one WebSocket. */

test("fifty readers and one writer share a connection that is cut in both directions, and lose and repeat nothing", async () => {
  await withSeed(20_261_130, async (random) => {
    await using cluster = await startCluster();
    const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
    let cuts = 0;
    await using proxy = await startTcpProxy({
      target: { port: Number(new URL(url).port) },
      faults: () => ({
        toServer: { cutAfterBytes: ++cuts > 6 ? Infinity : random.integer(2_000, 20_000) },
        toClient: { cutAfterBytes: cuts > 6 ? Infinity : random.integer(20_000, 400_000) },
      }),
    });
    const through = `http://${proxy.host}:${proxy.port}`;
    const apiKey = cluster.keys["acme"]!;
    const refused = () => Promise.reject(new Error("all calls have frames"));
    const fetch = overSocket({ url: through, fetch: refused });
    const client = createClient({ url: through, apiKey, fetch, retry: { baseDelayMs: 10 } });
    const { id } = await client.generations.create({ model: "sim", input: { stream: { format: "text" } } });
    const readers = Array.from({ length: 50 }, () => readText(client, id));
    const input = inputOf(client, id);
    const words = Array.from({ length: 300 }, (_, i) => `word-${i} `);
    for (const [i, word] of words.entries()) {
      const stored = input.text(word);
      if (i % 10 === 0) await stored;
    }
    await input.end();
    const texts = await Promise.all(readers);
    expect(new Set(texts)).toEqual(new Set([words.join("")]));
    expect(cuts).toBeGreaterThan(3);
    fetch.close();
  });
});

test("calls are made with fetch where no WebSocket can be opened", async () => {
  await using cluster = await startCluster();
  const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const fetch = overSocket({ url, WebSocket: ClosedSocket as unknown as typeof WebSocket });
  const client = createClient({ url, apiKey: cluster.keys["acme"]!, fetch });
  const direct = createClient({ url, apiKey: cluster.keys["acme"]! });
  const { id } = await client.generations.create({ model: "sim", input: "Hi", options: { tokens: 8 } });
  expect(await readText(client, id)).toBe(await readText(direct, id));
});

async function readText({ generations }: ReturnType<typeof createClient>, id: string): Promise<string> {
  let text = "";
  for await (const event of generations.stream(id)) if (event.type === "output.delta") text += event.text;
  return text;
}

/** A WebSocket that a proxy refuses. */
class ClosedSocket extends EventTarget {
  constructor() {
    super();
    queueMicrotask(() => this.dispatchEvent(new Event("error")));
  }

  close(): void {}
}
