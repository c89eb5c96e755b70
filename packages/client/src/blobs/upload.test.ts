import { describe, expect, it } from "vitest";
import { startFakeUploads } from "../testing/fake-uploads.ts";
import { createTestClient } from "../testing/test-runtime.ts";
import { blobsOf } from "./blobs-of.ts";

const CONTENT = new TextEncoder().encode("0123456789abcdefghij");

const blobsAt = (url: string) => blobsOf(createTestClient(url));

describe("an upload", () => {
  it("is one request", async () => {
    await using uploads = await startFakeUploads();
    const options = { type: "text/plain", subject: "s 1", endUser: "ann", ttlSeconds: 90 };
    const blob = await blobsAt(uploads.url).upload(CONTENT, options);
    expect(blob).toEqual({ id: "blob_1", type: "text/plain", bytes: 20, expires_at: "later" });
    expect(uploads.requests).toEqual(["POST /v1/blobs?subject=s%201&end_user=ann&ttl_seconds=90 20"]);
    expect(uploads.headers[0]).toMatchObject({ "content-type": "text/plain", authorization: "Bearer rk_x" });
  });

  it.each([
    ["a Blob, by its own type", new Blob([CONTENT], { type: "text/x" }), "text/x"],
    ["a Blob without a type", new Blob([CONTENT]), "application/octet-stream"],
    ["an ArrayBuffer", CONTENT.slice().buffer, "application/octet-stream"],
    ["a part of a buffer", new Uint8Array([0, ...CONTENT, 0]).subarray(1, 21), "application/octet-stream"],
  ])("takes %s", async (_, content, type) => {
    await using uploads = await startFakeUploads();
    await blobsAt(uploads.url).upload(content);
    expect(uploads.headers[0]).toMatchObject({ "content-type": type });
    expect(uploads.content().toString()).toBe("0123456789abcdefghij");
  });

  it("whose connection breaks is sent again whole", async () => {
    await using uploads = await startFakeUploads({ cuts: 2 });
    const blob = await blobsAt(uploads.url).upload(CONTENT);
    expect(blob.bytes).toBe(20);
    expect(uploads.requests).toEqual(Array.from({ length: 3 }, () => "POST /v1/blobs 20"));
  });
});
