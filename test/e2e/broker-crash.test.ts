import { createClient } from "@reprise/client";
import { createLedger, NOTHING_WRONG } from "@reprise/testkit";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";

const GENERATIONS = 8;
const REQUEST = { model: "sim", input: "Tell me a story.", options: { tokens: 300, tokens_per_second: 100 } };

test("a broker that is killed twice under load is a pause to readers: nothing lost, repeated, reordered or leaked", async () => {
  await using cluster = await startCluster();
  const [{ url }] = await Promise.all([cluster.startDelivery(), cluster.startWorker()]);
  const client = createClient({ url, apiKey: cluster.keys["acme"]! });
  const ledger = createLedger();
  let seen = 0;
  let crash = Promise.withResolvers<void>();

  const read = async (seed: number, name: string) => {
    const stream = client.generations.run(
      { ...REQUEST, options: { ...REQUEST.options, seed } },
      { idempotencyKey: `load-${seed}` },
    );
    for await (const event of stream) {
      if (event.seq === 1) ledger.follows(name, stream.id!);
      ledger.saw(name, { log: stream.id!, seq: event.seq, payload: JSON.stringify(event) });
      if (++seen % 100 === 0) crash.resolve();
    }
    expect(stream.status).toBe("completed");
    return stream.id!;
  };
  const reading = Promise.all(
    Array.from({ length: 2 * GENERATIONS }, (_, i) => read(i % GENERATIONS, `reader ${i}`)),
  );
  for (let times = 0; times < 2; times++) {
    // A slow worker's text comes in few events: all may be over before.
    await Promise.race([crash.promise, reading]);
    await cluster.server.kill("SIGKILL");
    await cluster.server.restart();
    crash = Promise.withResolvers();
  }
  const ids = new Set(await reading);
  expect(ids.size).toBe(GENERATIONS);
  // This process dials the broker again in its own time.
  await expect.poll(() => cluster.log.connected).toBe(true);
  for (const id of ids) {
    for (const [seq, payload] of (await cluster.readLog("acme", id)).entries())
      if (seq > 0) ledger.acked({ log: id, seq, payload });
  }
  expect(ledger.verdict()).toEqual(NOTHING_WRONG);
});
