import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { uploadPieces, watchMemory } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authorization, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";

/*
 * The client is in this process too, so what is measured is more than delivery's part. The broker is a process of its own. `test/e2e/blob-memory.slow.test.ts`
 * measures a delivery node by itself, whose blob goes into a request.
 */

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
/** Bytes in transit depend on the machine; a blob held in memory would be three times as much. */
const MOST = 10 * MIB;
const PIECE = Buffer.alloc(16 * 1_024, "the same sixteen kilobytes, sent again and again; ");

let platform: Platform;

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

test("a blob of 30 MiB goes up and comes down with less than 10 MiB of memory", async () => {
  // What the first of its kind loads and compiles.
  await read(await uploadOf(4 * MIB));
  const up = watchMemory();
  const id = await uploadOf(BYTES, up.sample);
  expect(up.most()).toBeLessThan(MOST);
  const down = watchMemory();
  expect(await read(id, down.sample)).toBe(BYTES);
  expect(down.most()).toBeLessThan(MOST);
});

const uploadOf = (bytes: number, sample = () => {}) =>
  uploadPieces(platform.node.url, { key: KEYS.acmeUploader, piece: PIECE, bytes, sample });

async function read(id: string, sample = () => {}): Promise<number> {
  const headers = authorization(KEYS.acmeUploader);
  const request = httpRequest(`${platform.node.url}/v1/blobs/${id}`, { headers }).end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let bytes = 0;
  let count = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (count++ % 16 === 0) sample();
  }
  return bytes;
}
