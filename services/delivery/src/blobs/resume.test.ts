import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorization, KEYS, openPlatform, type Platform } from "../testing/platform.ts";
import type { BlobJson } from "./uploads.fixture.ts";

const KEY = KEYS.acmeUploader;
const PARTIAL = { "content-type": "application/partial-upload" };

let platform: Platform;
let second: string;
let url: string;

beforeAll(async () => {
  platform = await openPlatform();
  ({ url } = platform.node);
  ({ url: second } = await platform.addNode());
});
afterAll(() => platform[Symbol.asyncDispose]());

interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
  /** After how many bytes of the body the connection is cut. */
  readonly cutAt?: number;
}

/** Resolves with the answer, or with nothing when the connection was cut; and with where the upload is, if that was said. */
async function send(address: string, { method, headers, body, cutAt }: Sent) {
  const request = httpRequest(address, {
    method,
    headers: {
      ...authorization(KEY),
      ...(!("transfer-encoding" in headers) && { "content-length": `${body.length}` }),
      ...headers,
    },
  });
  let location: string | undefined;
  request.on("information", (info) => {
    if (info.statusCode === 104) location = info.headers.location;
  });
  if (cutAt !== undefined && cutAt < body.length) {
    request.on("error", () => {});
    request.write(body.subarray(0, cutAt));
    if (method === "POST") await once(request, "information");
    const closed = new Promise((resolve) => void request.on("close", resolve));
    request.destroy();
    await closed;
    return { location, status: undefined, text: "", headers: {} };
  }
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
  return { location, status: response.statusCode, text, headers: response.headers };
}

async function head(address: string, path: string, key: string = KEY) {
  const { status, headers } = await fetch(new URL(path, address), {
    method: "HEAD",
    headers: authorization(key),
  });
  return {
    status,
    offset: Number(headers.get("upload-offset")),
    complete: headers.get("upload-complete"),
    limit: headers.get("upload-limit"),
    length: headers.get("upload-length"),
    blob: headers.get("content-location"),
  };
}

async function begin(content: Buffer | undefined, address = url): Promise<string> {
  const { status, headers } = await send(`${address}/v1/blobs`, {
    method: "POST",
    headers: {
      "content-type": "application/octet-stream",
      "upload-complete": "?0",
      ...(content && { "upload-length": `${content.length}` }),
    },
    body: Buffer.alloc(0),
  });
  expect(status).toBe(201);
  expect(headers["upload-offset"]).toBe("0");
  return headers.location!;
}

/** Asks where the upload stands, and sends the rest, until a request was not cut and had its place. */
async function goOn(path: string, content: Buffer, cuts: readonly number[]): Promise<BlobJson> {
  const left = [...cuts];
  for (let turn = 0; ; turn++) {
    const address = turn % 2 === 0 ? url : second;
    const { offset } = await head(address, path);
    const { status, text } = await send(`${address}${path}`, {
      method: "PATCH",
      headers: { ...PARTIAL, "upload-offset": `${offset}`, "upload-complete": "?1" },
      body: content.subarray(offset),
      ...(left.length > 0 && { cutAt: left.shift()! }),
    });
    // What the request before had brought was being stored.
    if (status === undefined || status === 409) continue;
    expect(status, text).toBeLessThan(300);
    return JSON.parse(text) as BlobJson;
  }
}

async function contentOf({ id }: BlobJson): Promise<Buffer> {
  const response = await fetch(`${second}/v1/blobs/${id}`, { headers: authorization(KEY) });
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

describe("an upload", () => {
  test("that is cut at random bytes, and resumed at either node, is what was sent", async () => {
    const cuts = fc.array(fc.integer({ min: 0, max: 500_000 }), { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 900_000 }), cuts, async (length, at) => {
        const content = randomBytes(length);
        const blob = await goOn(await begin(content), content, at);
        expect(blob.bytes).toBe(length);
        expect((await contentOf(blob)).equals(content)).toBe(true);
      }),
      { numRuns: 12 },
    );
  });

  test("that is cut in its first request is found at the place that an interim answer has named", async () => {
    const content = randomBytes(700_000);
    const { location, status } = await send(`${url}/v1/blobs`, {
      method: "POST",
      headers: { "content-type": "application/octet-stream", "upload-complete": "?1" },
      body: content,
      cutAt: 400_000,
    });
    expect(status).toBeUndefined();
    expect(location).toMatch(/^\/v1\/uploads\/upl_/);
    await expect.poll(async () => (await head(url, location!)).offset).toBeGreaterThan(0);
    const blob = await goOn(location!, content, []);
    expect((await contentOf(blob)).equals(content)).toBe(true);
  });

  test("says where it stands, what it may be, and at the end which blob it is", async () => {
    const content = randomBytes(1_000);
    const path = await begin(content);
    expect(await head(url, path)).toMatchObject({ status: 204, offset: 0, complete: "?0", length: "1000" });
    expect((await head(url, path)).limit).toMatch(/^max-size=1000, max-age=7[0-9]{3}$/);
    const blob = await goOn(path, content, []);
    const ended = await head(second, path);
    expect(ended).toMatchObject({ offset: 1_000, complete: "?1", blob: `/v1/blobs/${blob.id}` });
  });

  test("goes on at its own offset alone, and for its own tenant", async () => {
    const content = randomBytes(1_000);
    const path = await begin(content);
    const patch = (headers: Record<string, string>) =>
      send(`${url}${path}`, { method: "PATCH", headers, body: content });
    const wrong = await patch({ ...PARTIAL, "upload-offset": "7", "upload-complete": "?1" });
    expect([wrong.status, wrong.headers["upload-offset"]]).toEqual([409, "0"]);
    expect(JSON.parse(wrong.text)).toMatchObject({ error: { code: "upload_conflict" } });
    const refusals = await Promise.all([
      patch({ "content-type": "image/png", "upload-offset": "0", "upload-complete": "?1" }),
      patch({ ...PARTIAL, "upload-complete": "?1" }),
      patch({ ...PARTIAL, "upload-offset": "0" }),
      patch({
        ...PARTIAL,
        "upload-offset": "0",
        "upload-complete": "?1",
        ...authorization(KEYS.betaUploader),
      }),
    ]);
    expect(refusals.map(({ status }) => status)).toEqual([415, 400, 400, 404]);
    expect((await head(url, path, KEYS.betaUploader)).status).toBe(404);
  });

  test("that is finished takes no more, and is nothing once its blob is gone", async () => {
    const path = await begin(undefined);
    const patch = (content: Buffer, offset: number, complete = "?1") =>
      send(`${url}${path}`, {
        method: "PATCH",
        headers: { ...PARTIAL, "upload-offset": `${offset}`, "upload-complete": complete },
        body: content,
      });
    const first = await patch(randomBytes(1), 0);
    expect(first.status).toBe(201);
    const { id } = JSON.parse(first.text) as BlobJson;
    const more = await Promise.all([
      patch(randomBytes(99_999), 1),
      patch(randomBytes(99_999), 1, "?0"),
      patch(Buffer.alloc(0), 1, "?0"),
      patch(randomBytes(100), 0),
    ]);
    for (const { status, headers } of more) {
      expect(status).toBe(409);
      expect(headers).toMatchObject({
        "upload-offset": "1",
        "upload-complete": "?1",
        "content-location": `/v1/blobs/${id}`,
      });
    }
    const again = await patch(Buffer.alloc(0), 1);
    expect([again.status, JSON.parse(again.text)]).toMatchObject([200, { id, bytes: 1 }]);
    await fetch(`${url}/v1/blobs/${id}`, { method: "DELETE", headers: authorization(KEY) });
    expect((await head(url, path)).status).toBe(404);
    expect((await patch(randomBytes(99_999), 0)).status).toBe(404);
  });

  test("stands where it stood after a request that ended it too early or brought too much", async () => {
    const content = randomBytes(1_000);
    const path = await begin(content);
    const patch = (body: Buffer, headers: Record<string, string> = {}) =>
      send(`${url}${path}`, {
        method: "PATCH",
        headers: { ...PARTIAL, "upload-offset": "0", "upload-complete": "?1", ...headers },
        body,
      });
    const large = await patch(Buffer.concat([content, content.subarray(0, 1)]));
    expect([large.status, (await head(url, path)).offset]).toEqual([413, 0]);
    const empty = await patch(Buffer.alloc(0));
    expect([empty.status, (await head(url, path)).offset]).toEqual([400, 0]);
    const short = await patch(content.subarray(0, 400));
    expect([short.status, (await head(second, path)).offset]).toEqual([400, 400]);
    const rest = content.subarray(400);
    const untold = await send(`${url}${path}`, {
      method: "PATCH",
      headers: {
        ...PARTIAL,
        "upload-offset": "400",
        "upload-complete": "?1",
        "transfer-encoding": "chunked",
      },
      body: Buffer.concat([rest, rest]),
    });
    expect([untold.status, (await head(url, path)).offset]).toEqual([413, 400]);
    expect((await contentOf(await goOn(path, content, []))).equals(content)).toBe(true);
  });

  test("that is given up is gone", async () => {
    const path = await begin(randomBytes(1_000));
    const { status } = await fetch(new URL(path, url), { method: "DELETE", headers: authorization(KEY) });
    expect(status).toBe(204);
    expect((await head(url, path)).status).toBe(404);
  });
});

test("an uploader that stops sending is cut off in time, and what it has sent is kept for it", async () => {
  await using node = await platform.addNode({ arrivalMs: 5_000 });
  const content = randomBytes(400_000);
  const path = await begin(content);
  const { port } = new URL(node.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(
    `PATCH ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/partial-upload\r\n` +
      `Upload-Offset: 0\r\nUpload-Complete: ?1\r\nContent-Length: ${content.length}\r\n\r\n`,
  );
  socket.write(content.subarray(0, 200_000));
  socket.resume();
  await once(socket, "close");
  await expect.poll(async () => (await head(url, path)).offset).toBe(200_000);
  expect((await contentOf(await goOn(path, content, []))).equals(content)).toBe(true);
});

test("a client that takes nothing of a blob is cut off, and its place is free", async () => {
  await using node = await platform.addNode({ blobStallMs: 200, blobTransfers: 1 });
  const content = randomBytes(20_000_000);
  const { status, text } = await send(`${url}/v1/blobs`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: content,
  });
  expect(status, text).toBe(201);
  const { id } = JSON.parse(text) as BlobJson;
  const { port } = new URL(node.url);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(`GET /v1/blobs/${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\n\r\n`);
  const read = () => fetch(`${node.url}/v1/blobs/${id}`, { headers: authorization(KEY) });
  await expect.poll(async () => (await read()).status).toBe(503);
  await expect.poll(async () => (await read()).status).toBe(200);
  socket.destroy();
});
