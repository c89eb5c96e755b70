import { createClient } from "@reprise/client";
import { expect, test } from "vitest";
import { startCluster } from "./testing/cluster.ts";
import { TENANT } from "./testing/moderated.ts";

/** Shorter than the generation, which takes six seconds. */
const TTL_SECONDS = 4;

test("a stream outlasts its tokens: the SDK renews them, at any node, and hands out each event once", async () => {
  await using cluster = await startCluster();
  const [one, other] = await Promise.all([
    cluster.startDelivery(),
    cluster.startDelivery(),
    cluster.startWorker(),
  ]);
  let minted = 0;
  const getToken = async () => {
    const response = await fetch(`${(minted++ % 2 === 0 ? one : other).url}/v1/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${cluster.keys[TENANT]}`, "content-type": "application/json" },
      body: JSON.stringify({ scopes: ["create", "read"], end_user: "ann", ttl_seconds: TTL_SECONDS }),
    });
    return ((await response.json()) as { token: string }).token;
  };
  const { generations } = createClient({ url: one.url, getToken });
  const options = { tokens: 300, tokens_per_second: 50, seed: 7 };
  const stream = generations.run({ model: "sim", input: "Hi", options });
  const seqs: number[] = [];
  for await (const event of stream) seqs.push(event.seq);
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
  expect([stream.status, stream.reconnects > 1, minted > 2]).toEqual(["completed", true, true]);
  const owner = createClient({ url: other.url, apiKey: cluster.keys[TENANT]! });
  expect((await owner.generations.get(stream.id!)).text).toBe(stream.text);
});
