import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import * as blobs from "@reprise/blobs";
import { parseTenantId } from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authorization, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";
import { type BlobJson, upload } from "../../testing/uploads.ts";

const KEY = KEYS.acmeUploader;

let platform: Platform;

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

async function open(url: string) {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

test.each(["leaves", "stops sending"])(
  "an uploader that %s leaves no bytes and takes no room",
  async (how) => {
    await using node = await platform.addNode({ arrivalMs: 3_000 });
    const { broker, log } = platform;
    const storage = blobs.createBlobStorage({ broker, publish: log.publish });
    const socket = await open(node.url);
    socket.write(
      `POST /v1/blobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: text/plain\r\nContent-Length: 400000\r\n\r\n`,
    );
    socket.write(Buffer.alloc(200_000, "a"));
    const stored = () => Array.fromAsync(storage.chunks.list());
    await expect.poll(async () => (await stored()).length).toBe(1);
    if (how === "leaves") socket.destroy();
    await expect.poll(stored, { timeout: 10_000 }).toEqual([]);
    await expect.poll(() => storage.accounts.bytesOf(parseTenantId("acme"))).toBe(0);
    socket.destroy();
  },
);

test("a client that takes nothing of a blob is cut off, and its place is free", async () => {
  await using node = await platform.addNode({ blobStallMs: 200, blobTransfers: 1 });
  const content = randomBytes(20_000_000);
  const { status, json } = await upload(platform.node.url, { content, type: "application/octet-stream" });
  expect(status).toBe(201);
  const { id } = json as BlobJson;
  const socket = await open(node.url);
  socket.pause();
  socket.write(`GET /v1/blobs/${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
  const read = () => fetch(`${node.url}/v1/blobs/${id}`, { headers: authorization(KEY) });
  await expect.poll(async () => (await read()).status).toBe(503);
  await expect.poll(async () => (await read()).status).toBe(200);
  socket.destroy();
});
