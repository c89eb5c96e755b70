import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { parseTenantId } from "@reprise/protocol";
import { watchMemory } from "@reprise/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { authorization, call, KEYS, openPlatform, type Platform } from "../testing/platform.ts";
import type { BlobJson } from "./uploads.fixture.ts";

/*
 * The client is in this process too, so what is measured is more than delivery's part. The broker is a process of its own.
 */

const MIB = 1_024 * 1_024;
const BYTES = 30 * MIB;
const MOST = 2 * MIB;
const PIECE = Buffer.alloc(16 * 1_024, "the same sixteen kilobytes, sent again and again; ");

let platform: Platform;

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

test("a blob of 30 MiB goes up and comes down with less than 2 MiB of memory", async () => {
  // What the first of its kind loads and compiles.
  await read(await uploadOf(4 * MIB));
  const up = watchMemory();
  const id = await uploadOf(BYTES, up.sample);
  expect(up.most()).toBeLessThan(MOST);
  const down = watchMemory();
  expect(await read(id, down.sample)).toBe(BYTES);
  expect(down.most()).toBeLessThan(MOST);
});

test("a blob of 30 MiB goes up and into a request with less than 2 MiB of memory", async () => {
  await create(await uploadOf(MIB));
  const memory = watchMemory();
  const id = await uploadOf(BYTES, memory.sample);
  expect(await create(id)).toMatchObject({ media: { [id]: { blob: id, bytes: BYTES, type: "text/plain" } } });
  memory.sample();
  expect(memory.most()).toBeLessThan(MOST);
});

/** Creates a generation that is to read a blob, and gives its seq 0, which is all that delivery hands on. */
async function create(blob: string): Promise<unknown> {
  const input = [{ role: "user", content: [{ type: "file", blob }] }];
  const body = { model: "sim", input };
  const { status, json } = await call(`${platform.node.url}/v1/generations`, { body });
  expect(status).toBe(201);
  const ref = { tenant: parseTenantId("acme"), generation: (json as { id: never }).id };
  const first = await platform.log.reader.readFirst(ref);
  return JSON.parse(Buffer.from(first!.payload).toString()) as unknown;
}

async function uploadOf(bytes: number, sample = () => {}): Promise<string> {
  const request = open("POST", "/v1/blobs", { "content-type": "text/plain", "content-length": `${bytes}` });
  const answered = once(request, "response") as Promise<[IncomingMessage]>;
  for (let sent = 0, count = 0; sent < bytes; sent += PIECE.length, count++) {
    if (!request.write(PIECE)) await Promise.race([once(request, "drain"), answered]);
    if (count % 64 === 0) sample();
  }
  request.end();
  const [response] = await answered;
  const text = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)).toString();
  expect(response.statusCode, text).toBeLessThan(300);
  return (JSON.parse(text) as BlobJson).id;
}

async function read(id: string, sample = () => {}): Promise<number> {
  const request = open("GET", `/v1/blobs/${id}`).end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let bytes = 0;
  let count = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (count++ % 16 === 0) sample();
  }
  return bytes;
}

function open(method: string, path: string, headers: Record<string, string> = {}): ClientRequest {
  return httpRequest(`${platform.node.url}${path}`, {
    method,
    headers: { ...authorization(KEYS.acmeUploader), ...headers },
  });
}
