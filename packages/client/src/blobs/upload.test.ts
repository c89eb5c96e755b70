import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createClient } from "../client.ts";
import { startFakeUploads, type UploadFault } from "../testing/fake-uploads.ts";
import { createTestRuntime, IDLE_TIMEOUT_MS } from "../testing/test-runtime.ts";
import { blobsOf } from "./blobs-of.ts";
import { partsOf } from "./parts-of.ts";

const CONTENT = new TextEncoder().encode("0123456789abcdefghij");

function blobsAt(url: string) {
  const runtime = createTestRuntime();
  return blobsOf(createClient({ url, apiKey: "rk_x", runtime, idleTimeoutMs: IDLE_TIMEOUT_MS }));
}

/** Chunks of these lengths, as a stream brings them. */
async function* inChunks(content: Uint8Array, ...lengths: number[]) {
  let at = 0;
  for (const length of [...lengths, content.length]) yield content.subarray(at, (at += length));
}

describe("an upload", () => {
  it("of one part is one request", async () => {
    await using uploads = await startFakeUploads();
    const options = { type: "text/plain", subject: "s 1", endUser: "ann", ttlSeconds: 90 };
    const blob = await blobsAt(uploads.url).upload(CONTENT, options);
    expect(blob).toEqual({ id: "blob_1", type: "text/plain", bytes: 20, expires_at: "later" });
    expect(uploads.requests).toEqual(["POST /v1/blobs?subject=s%201&end_user=ann&ttl_seconds=90 20"]);
    expect(uploads.headers[0]).toMatchObject({ "content-type": "text/plain", authorization: "Bearer rk_x" });
  });

  it("of several parts gets an address first, and says its length where that is known", async () => {
    await using uploads = await startFakeUploads();
    const stored: number[] = [];
    const onProgress = (bytes: number) => void stored.push(bytes);
    await blobsAt(uploads.url).upload(new Blob([CONTENT], { type: "text/x" }), { partBytes: 8, onProgress });
    expect(uploads.requests).toEqual([
      "POST /v1/blobs 0",
      "PATCH /v1/uploads/upl_1 8",
      "PATCH /v1/uploads/upl_1 8",
      "PATCH /v1/uploads/upl_1 4",
    ]);
    expect(uploads.headers[0]).toMatchObject({ "content-type": "text/x", "upload-length": "20" });
    expect(uploads.headers.slice(1).map((headers) => headers["upload-complete"])).toEqual(["?0", "?0", "?1"]);
    expect(stored).toEqual([8, 16, 20]);
    expect(uploads.content().toString()).toBe("0123456789abcdefghij");
  });

  it("that breaks off goes on where the platform has come to, and sends nothing twice that is stored", async () => {
    await using uploads = await startFakeUploads([{ kind: "none" }, { kind: "cut", stored: 3 }]);
    await blobsAt(uploads.url).upload(inChunks(CONTENT, 5, 1, 9), { partBytes: 8 });
    expect(uploads.requests).toEqual([
      "POST /v1/blobs 0",
      "PATCH /v1/uploads/upl_1 8",
      "PATCH /v1/uploads/upl_1 8",
      "HEAD /v1/uploads/upl_1 0",
      "PATCH /v1/uploads/upl_1 5",
      "PATCH /v1/uploads/upl_1 4",
    ]);
    expect(uploads.content().toString()).toBe("0123456789abcdefghij");
  });

  it("whose last answer is lost finds out what has become of it", async () => {
    await using uploads = await startFakeUploads([
      { kind: "none" },
      { kind: "none" },
      { kind: "answer_lost" },
    ]);
    const blob = await blobsAt(uploads.url).upload(CONTENT, { partBytes: 8 });
    expect(blob).toEqual({ id: "blob_1", type: "text/plain", bytes: 20, expires_at: "later" });
    expect(uploads.requests.slice(-2)).toEqual(["HEAD /v1/uploads/upl_1 0", "HEAD /v1/blobs/blob_1 0"]);
  });

  it("that is given up is removed", async () => {
    await using uploads = await startFakeUploads();
    const given = new AbortController();
    const uploading = blobsAt(uploads.url).upload(CONTENT, {
      partBytes: 8,
      signal: given.signal,
      onProgress: () => given.abort(new Error("enough")),
    });
    await expect(uploading).rejects.toThrow("enough");
    await expect.poll(() => uploads.requests.at(-1)).toBe("DELETE /v1/uploads/upl_1 0");
  });

  it("is what was sent, for any parts, chunks and faults", async () => {
    const fault = fc.oneof(
      fc.constant<UploadFault>({ kind: "none" }),
      fc.constant<UploadFault>({ kind: "answer_lost" }),
      fc.constant<UploadFault>({ kind: "conflict" }),
      fc.nat(12).map((stored): UploadFault => ({ kind: "cut", stored })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ minLength: 1, maxLength: 60 }),
        fc.array(fc.nat(20), { maxLength: 5 }),
        fc.integer({ min: 1, max: 25 }),
        fc.array(fault, { maxLength: 8 }),
        async (content, lengths, partBytes, faults) => {
          await using uploads = await startFakeUploads(faults);
          const blob = await blobsAt(uploads.url).upload(inChunks(content, ...lengths), { partBytes });
          expect(blob.bytes).toBe(content.length);
          expect(uploads.content()).toEqual(Buffer.from(content));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("cancels the stream that it was given when it fails", async () => {
    await using uploads = await startFakeUploads();
    let reason: unknown = "not cancelled";
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(CONTENT),
      cancel: () => void (reason = "cancelled"),
    });
    const given = new AbortController();
    const onProgress = () => given.abort();
    await expect(
      blobsAt(uploads.url).upload(stream, { partBytes: 8, signal: given.signal, onProgress }),
    ).rejects.toMatchObject({ name: "AbortError" });
    expect(reason).toBe("cancelled");
  });
});

it.each([
  [0, [0]],
  [8, [8]],
  [9, [8, 1]],
])("a content of %i bytes has parts of %j", async (length, expected) => {
  const parts = await Array.fromAsync(partsOf(new Uint8Array(length).buffer, 8));
  expect(parts.map(({ bytes }) => bytes.byteLength)).toEqual(expected);
  expect(parts.map(({ isLast }) => isLast)).toEqual(expected.map((_, i) => i === expected.length - 1));
});
