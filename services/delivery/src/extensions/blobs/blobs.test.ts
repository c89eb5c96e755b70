import { randomBytes } from "node:crypto";
import { BLOB_LIMITS } from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorization, call, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";
import { PNG, type BlobJson, upload } from "../../testing/uploads.ts";

let platform: Platform;
let url: string;

beforeAll(async () => {
  const small = {
    id: "small",
    keys: [{ secret: "rk_small_0123456789abcdef", roles: ["blob"] }],
    limits: { blobs: { blob_bytes: 1_000, bytes: 10_000 } },
  };
  platform = await openPlatform({ moreTenants: [small] });
  ({ url } = platform.node);
});
afterAll(() => platform[Symbol.asyncDispose]());

interface ReadOptions {
  readonly key?: string;
  readonly method?: string;
}

const read = (id: string, { key = KEYS.acmeUploader, method = "GET" }: ReadOptions = {}) =>
  fetch(`${url}/v1/blobs/${id}`, { method, headers: authorization(key) });

const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

describe("a blob", () => {
  test("is stored, read as it was, and gone when it is deleted", async () => {
    const content = Buffer.concat([PNG, randomBytes(300_000)]);
    const { status, headers, json } = await upload(url, { content, type: "image/png" });
    expect(status).toBe(201);
    const { id } = json as BlobJson;
    expect(json).toMatchObject({
      object: "blob",
      type: "image/png",
      bytes: content.length,
      ttl_seconds: 86_400,
    });
    expect(headers.get("location")).toBe(`/v1/blobs/${id}`);

    const response = await read(id);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": `${content.length}`,
      "content-disposition": "attachment",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("sandbox"),
      "cache-control": "no-store",
    });
    expect((await bytesOf(response)).equals(content)).toBe(true);
    const head = await read(id, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, `${content.length}`]);

    expect((await read(id, { method: "DELETE" })).status).toBe(204);
    expect((await read(id)).status).toBe(404);
    expect((await read(id, { method: "DELETE" })).status).toBe(404);
  });

  test("has one id however often its tenant uploads it, and others for another type, subject or tenant", async () => {
    const content = Buffer.from(`{"a":"${randomBytes(8).toString("hex")}"}`);
    const type = "application/json";
    const first = await upload(url, { content, type });
    const again = await upload(url, { content, type });
    expect([first.status, again.status]).toEqual([201, 200]);
    const { id } = first.json as BlobJson;
    expect((again.json as BlobJson).id).toBe(id);
    const others = await Promise.all([
      upload(url, { content, type: "text/plain" }),
      upload(url, { content, type, query: "?subject=person-1" }),
      upload(url, { content, type, query: "?end_user=ann" }),
      upload(url, { content, type, key: KEYS.betaUploader }),
    ]);
    expect(others.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    const ids = others.map(({ json }) => (json as BlobJson).id);
    expect(new Set([id, ...ids]).size).toBe(5);
  });

  test("is not there for another tenant, by any call", async () => {
    const { json } = await upload(url, { content: Buffer.from("secret"), type: "text/plain" });
    const { id } = json as BlobJson;
    for (const method of ["GET", "HEAD", "DELETE"]) {
      const foreign = await read(id, { key: KEYS.betaUploader, method });
      const unknown = await read(`blob_${"0".repeat(26)}`, { key: KEYS.betaUploader, method });
      const malformed = await read("blob_.>", { key: KEYS.betaUploader, method });
      expect([foreign.status, unknown.status, malformed.status]).toEqual([404, 404, 404]);
      expect(await foreign.text()).toBe(await unknown.text());
    }
    expect(await (await read(id)).text()).toBe("secret");
  });

  test("of an end user is uploaded and read with that user's token", async () => {
    const mint = async (end_user: string) => {
      const body = { scopes: ["create", "read"], end_user };
      return ((await call(`${url}/v1/tokens`, { body })).json as { token: string }).token;
    };
    const [ann, bob] = [await mint("ann"), await mint("bob")];
    const { status, json } = await upload(url, { content: PNG, type: "image/png", key: ann });
    expect(status).toBe(201);
    const { id } = json as BlobJson;
    expect([(await read(id, { key: ann })).status, (await read(id, { key: bob })).status]).toEqual([
      200, 404,
    ]);
    const named = await upload(url, { content: PNG, type: "image/png", key: ann, query: "?end_user=bob" });
    expect(named).toMatchObject({ status: 400, json: { error: { param: "end_user" } } });
  });

  test("needs the role, which the others do not have in them", async () => {
    for (const key of [KEYS.acme, KEYS.acmeReader, KEYS.acmeAdmin, KEYS.acmeAuditor]) {
      const { status } = await upload(url, { content: Buffer.from("x"), type: "text/plain", key });
      expect(status).toBe(403);
      expect((await read(`blob_${"0".repeat(26)}`, { key })).status).toBe(403);
    }
  });

  test.each([
    ["image/png", Buffer.from("GIF89a and so on")],
    ["image/jpeg", PNG],
    ["image/png", Buffer.from("<html>")],
    ["text/plain", Buffer.from([0xff, 0xfe, 0x00, 0x01])],
    ["application/json", PNG],
    ["application/pdf", Buffer.from("MZ\0\0\0")],
  ])("is refused as %s where its content is not that", async (type, content) => {
    const { status, json } = await upload(url, { content, type });
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: { code: "invalid_request", param: "Content-Type" } });
  });

  test("has the type of its content where its client does not know it", async () => {
    const { json } = await upload(url, { content: PNG, type: "application/octet-stream" });
    expect(json).toMatchObject({ type: "image/png" });
  });

  test("is refused when it is empty, has no type, or its parameters are wrong", async () => {
    const content = Buffer.from("x");
    const refusals = await Promise.all([
      upload(url, { content: Buffer.alloc(0), type: "text/plain" }),
      upload(url, { content, type: "nonsense" }),
      upload(url, { content, type: "text/plain", query: "?ttl_seconds=1" }),
      upload(url, { content, type: "text/plain", query: "?name=holiday.png" }),
      upload(url, { content, type: "text/plain", headers: { "upload-complete": "?0" } }),
    ]);
    expect(refusals.map(({ status }) => status)).toEqual([400, 415, 400, 400, 400]);
  });

  test("of the tenant's limit and one byte more is refused, told or not, and leaves no room taken", async () => {
    const key = "rk_small_0123456789abcdef";
    const type = "text/plain";
    for (let i = 0; i < 5; i++) {
      const told = await upload(url, { content: Buffer.alloc(1_001, "a"), type, key });
      const untold = await upload(url, { content: Buffer.alloc(1_001, "b"), type, key, isChunked: true });
      expect([told.status, untold.status]).toEqual([413, 413]);
    }
    expect((await upload(url, { content: Buffer.alloc(1_000, "c"), type, key })).status).toBe(201);
    expect((await upload(url, { content: Buffer.alloc(1_000, "d"), type, key })).status).toBe(201);
    // Each counts as 4 KiB at least.
    const { status, json } = await upload(url, { content: Buffer.from("e"), type, key });
    expect(status).toBe(429);
    expect(json).toMatchObject({ error: { code: "limit_exceeded", param: "blobs.bytes" } });
  });

  test("of a malformed type is refused without a word of JSON alone", async () => {
    const { status, json } = await upload(url, { content: Buffer.from("x"), type: "a/b/c" });
    expect([status, json]).toMatchObject([415, { error: { message: expect.stringContaining("of a blob") } }]);
  });

  test("is larger than other bodies may be", async () => {
    const content = Buffer.alloc(3_000_000, "text ");
    expect(content.length).toBeLessThan(BLOB_LIMITS.blobBytes);
    const { status, json } = await upload(url, { content, type: "text/plain", isChunked: true });
    expect(status).toBe(201);
    expect((await bytesOf(await read((json as BlobJson).id))).equals(content)).toBe(true);
  });

  test("is told to auditors by its hash, and its calls by no name in the metrics", async () => {
    const { text } = await call(`${platform.node.opsUrl}/metrics`);
    expect(text).toMatch(/^reprise_blob_uploads_total\{result="stored"\} [1-9]/m);
    expect(text).toMatch(/^reprise_blob_bytes_total\{direction="out"\} [1-9]/m);
  });
});
