import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:http2";
import * as blobs from "@reprise/blobs";
import { type BlobId, parseTenantId } from "@reprise/protocol";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { expect, test } from "vitest";
import { streamOf } from "../../connections/http2.ts";
import { authorization, call, KEYS, openPlatform } from "../../testing/platform.ts";
import type { BlobMetrics } from "./blob-metrics.ts";
import { sendContent } from "./send-content.ts";
import { TransferSlots } from "./transfer-slots.ts";
import { PNG, upload } from "../../testing/uploads.ts";

const TENANT = parseTenantId("acme");
const METRICS = { sent: () => {} } as unknown as BlobMetrics;

/** Ends as soon as the client has left. */
const leftOf = ({ raw }: FastifyReply) => once(streamOf(raw) ?? raw, "close");

async function openSender(http2: boolean) {
  const platform = await openPlatform();
  const { json } = await upload(platform.node.url, { content: PNG, type: "image/png" });
  const storage = blobs.createBlobStorage({ broker: platform.broker, publish: platform.log.publish });
  const found = await blobs.findBlob(storage, TENANT, (json as { id: BlobId }).id);
  const transfers = new TransferSlots({ max: 3, onRefused: () => {} });
  const app: FastifyInstance = fastify({
    ...(http2 && { http2: true }),
    forceCloseConnections: true,
  } as object);
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<unknown>();
  app.get("/", async (_, reply) => {
    const left = leftOf(reply);
    asked.resolve();
    await left;
    const node = { storage, transfers, metrics: METRICS, stallMs: 60_000 };
    const sent = sendContent(reply, node, found);
    answered.resolve(await sent.catch((error: unknown) => error));
    return sent;
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    url,
    transfers,
    asked: asked.promise,
    answered: answered.promise,
    [Symbol.asyncDispose]: async () => {
      await app.close();
      await platform[Symbol.asyncDispose]();
    },
  };
}

test("a client that has left while its blob was looked for leaves its place free", async () => {
  await using sender = await openSender(false);
  const request = httpRequest(sender.url).on("error", () => {});
  request.end();
  await sender.asked;
  request.destroy();
  expect(await sender.answered).toMatchObject({ code: "connection_lost" });
  expect(sender.transfers.used).toBe(0);
});

test("so does one of HTTP/2", async () => {
  await using sender = await openSender(true);
  const session = connect(sender.url);
  const stream = session.request({ ":path": "/" }).on("error", () => {});
  await sender.asked;
  stream.close(8);
  expect(await sender.answered).toMatchObject({ code: "connection_lost" });
  expect(sender.transfers.used).toBe(0);
  session.destroy();
});

test("a blob whose bytes the store has lost is an error of the platform's form, and its place is free", async () => {
  await using platform = await openPlatform();
  const { json } = await upload(platform.node.url, { content: PNG, type: "image/png" });
  const { id } = json as { id: BlobId };
  const storage = blobs.createBlobStorage({ broker: platform.broker, publish: platform.log.publish });
  const { row } = await blobs.findBlob(storage, TENANT, id);
  await storage.chunks.remove({ tenant: TENANT, upload: row.chunks });
  const response = await fetch(`${platform.node.url}/v1/blobs/${id}`, {
    headers: authorization(KEYS.acmeUploader),
  });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: "internal" } });
  const { headers } = response;
  expect(headers.get("content-type")).toContain("application/json");
  expect([headers.get("etag"), headers.get("repr-digest")]).toEqual([null, null]);
  const metrics = async () => (await call(`${platform.node.opsUrl}/metrics`)).text;
  await expect.poll(metrics).toMatch(/^reprise_blob_transfers 0$/m);
});
