import { randomBytes } from "node:crypto";
import { createClient } from "@reprise/client";
import { blobsOf } from "@reprise/client/blobs";
import { conversationsOf } from "@reprise/client/conversations";
import { modelsOf } from "@reprise/client/models";
import { createSeededRandom, startTcpProxy } from "@reprise/testkit";
import { expect, test } from "vitest";
import { type Cluster, startCluster } from "./testing/cluster.ts";

const RETRY = { baseDelayMs: 5, maxDelayMs: 50 };
const ASKED = { model: "sim", options: { tokens: 10, tokens_per_second: 0 } };

/** A client whose requests go to two nodes in turn, over a proxy each. */
async function openClient(cluster: Cluster) {
  const nodes = await Promise.all([cluster.startDelivery(), cluster.startDelivery(), cluster.startWorker()]);
  const proxies = await Promise.all(
    nodes.slice(0, 2).map(async (node) => {
      const { port } = new URL((node as { url: string }).url);
      return cluster.use(await startTcpProxy({ target: { port: Number(port) } }));
    }),
  );
  let requests = 0;
  const client = createClient({
    url: "http://platform.invalid",
    apiKey: cluster.keys["acme"]!,
    retry: RETRY,
    fetch: (url, init) => {
      const { host, port } = proxies[requests++ % proxies.length]!;
      return fetch(url.replace("platform.invalid", `${host}:${port}`), init);
    },
  });
  return { client, proxies };
}

test("content is uploaded and downloaded over connections that are cut at random bytes, and is what it was", async () => {
  await using cluster = await startCluster();
  const { client, proxies } = await openClient(cluster);
  const blobs = blobsOf(client);
  const content = randomBytes(3_000_000);
  const random = createSeededRandom(20_261_124);
  let cuts = 6;
  for (const proxy of proxies)
    proxy.setFaults(() => (cuts-- > 0 ? { toServer: { cutAfterBytes: random.integer(0, 2_000_000) } } : {}));

  const blob = await blobs.upload(content);
  expect(cuts).toBeLessThan(0);
  expect(blob).toMatchObject({ id: expect.stringMatching(/^blob_/), bytes: content.length });

  cuts = 6;
  for (const proxy of proxies) proxy.cutNow();
  for (const proxy of proxies)
    proxy.setFaults(() => (cuts-- > 0 ? { toClient: { cutAfterBytes: random.integer(0, 2_000_000) } } : {}));
  const { bytes, type } = await blobs.download(blob.id);
  expect(cuts).toBeLessThan(0);
  expect(Buffer.compare(bytes, content)).toBe(0);
  expect(type).toBe("application/octet-stream");

  for (const proxy of proxies) proxy.setFaults({});
  expect(await blobs.upload(content)).toMatchObject({ id: blob.id });
  await blobs.delete(blob.id);
  await expect(blobs.download(blob.id)).rejects.toMatchObject({ code: "blob_not_found" });
});

test("a conversation is held, listed, read item by item and deleted over connections that are cut, and each call is made once", async () => {
  await using cluster = await startCluster();
  const { client, proxies } = await openClient(cluster);
  const conversations = conversationsOf(client);
  // Every second connection breaks in the answer: what it has asked for was done.
  for (const proxy of proxies)
    proxy.setFaults((index) => (index % 2 === 0 ? { toClient: { cutAfterBytes: 60 } } : {}));
  expect(await modelsOf(client)).toMatchObject([{ id: "sim", object: "model" }]);

  const conversation = await conversations.create({ end_user: "ann", metadata: { of: "test" } });
  const { id } = conversation;
  const expected: { role: string; content: string }[] = [];
  for (const input of ["One?", "Two?"]) {
    const { text } = await client.generations.run({ ...ASKED, conversation: id, input }).done();
    expected.push({ role: "user", content: input }, { role: "assistant", content: text });
  }
  expect(await conversations.get(id)).toMatchObject({ turns: 2, metadata: { of: "test" } });
  const items = await Array.fromAsync(conversations.items(id));
  expect(items).toMatchObject(expected);
  expect(await Array.fromAsync(conversations.items(id, { order: "desc" }))).toEqual(items.toReversed());
  expect(await Array.fromAsync(conversations.items(id, { after: items[0]!.id }))).toEqual(items.slice(1));
  expect(await Array.fromAsync(conversations.list({ endUser: "ann" }))).toMatchObject([{ id, turns: 2 }]);
  expect(await Array.fromAsync(conversations.list({ endUser: "bob" }))).toEqual([]);

  await conversations.delete(id);
  await expect(conversations.get(id)).rejects.toMatchObject({ code: "conversation_not_found" });
});
