import * as blobs from "@reprise/blobs";
import {
  type BlobId,
  type BlobRecord,
  type Generation,
  LIMITS,
  parseGenerationRequest,
  parseTenantId,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PNG, upload } from "../../testing/uploads.ts";
import { authorization, call, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";
import { resolveMedia } from "../../models/resolve-media.ts";
import { useIn } from "./blobs.ts";

const TENANT = parseTenantId("acme");
const NO_BLOB = `blob_${"0".repeat(26)}`;

let platform: Platform;
let n = 0;

beforeAll(async () => {
  platform = await openPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

/** New content each time. */
async function stored(options: { type?: string; query?: string; key?: string } = {}): Promise<string> {
  const { type = "image/png", ...rest } = options;
  const begin = type === "image/png" ? PNG : Buffer.from("some text ");
  const content = Buffer.concat([begin, Buffer.from(`${n++}`)]);
  const { json } = await upload(platform.node.url, { content, type, ...rest });
  return (json as { id: string }).id;
}

function create(part: object, fields: object = {}, headers: Record<string, string> = {}) {
  const input = [{ role: "user", content: [{ type: "text", text: "What is it?" }, part] }];
  return call(`${platform.node.url}/v1/generations`, { body: { model: "sim", input, ...fields }, headers });
}

async function seq0({ id }: Generation) {
  const first = await platform.log.reader.readFirst({ tenant: TENANT, generation: id as never });
  return JSON.parse(Buffer.from(first!.payload).toString()) as Record<string, unknown>;
}

const rowOf = async (id: string) => {
  const storage = blobs.createBlobStorage({ broker: platform.broker, publish: platform.log.publish });
  return (await blobs.findBlob(storage, TENANT, id as BlobId)).row;
};

describe("a create that names a blob", () => {
  test("is stored as it was sent, beside what the blob is by its hash", async () => {
    const blob = await stored();
    const part = { type: "image", blob, detail: "low" };
    const { status, json } = await create(part);
    expect(status).toBe(201);
    const { sha256, bytes } = await rowOf(blob);
    const first = await seq0(json as Generation);
    expect(first).toMatchObject({
      request: { input: [{ content: [{ type: "text" }, part] }] },
      needs: ["content_parts", "images", "media_references"],
    });
    expect(first["media"]).toEqual({ [blob]: { blob, type: "image/png", bytes, sha256 } });
  });

  test("keeps the blob for as long as the generation may run", async () => {
    const blob = await stored({ query: "?ttl_seconds=60" });
    const before = Date.now();
    const policy = { timeouts: { queue: { after_ms: 1_000 }, total: { after_ms: 600_000 } } };
    expect((await create({ type: "image", blob }, { policy })).status).toBe(201);
    expect(Date.parse((await rowOf(blob)).expires_at)).toBeGreaterThanOrEqual(before + 601_000);
  });

  test.each([
    ["no blob", async () => NO_BLOB, {}, 404, "blob_not_found"],
    ["another tenant's", () => stored({ key: KEYS.betaUploader }), {}, 404, "blob_not_found"],
    [
      "another end user's",
      () => stored({ query: "?end_user=eva" }),
      { end_user: "ole" },
      404,
      "blob_not_found",
    ],
    ["an end user's, without one", () => stored({ query: "?end_user=eva" }), {}, 404, "blob_not_found"],
    ["of another kind", () => stored({ type: "text/plain" }), {}, 400, "invalid_request"],
    ["malformed", async () => "blob_1", {}, 400, "invalid_request"],
  ])("%s is refused by the part's path, and nothing is stored", async (_, blobOf, fields, status, code) => {
    const headers = { "idempotency-key": `refused-${n++}` };
    const answer = await create({ type: "image", blob: await blobOf() }, fields, headers);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({
      error: { code, param: expect.stringMatching(/^input\.0\.content\.1/), retryable: false },
    });
    // The key is still free.
    expect((await create({ type: "text", text: "x" }, {}, headers)).status).toBe(201);
  });

  test("of the end user's own, of a deleted one, and one that joins what has named it", async () => {
    const blob = await stored({ query: "?end_user=eva" });
    const own = { end_user: "eva" };
    const headers = { "idempotency-key": `joins-${n}` };
    expect((await create({ type: "image", blob }, own, headers)).status).toBe(201);
    const deleted = await fetch(`${platform.node.url}/v1/blobs/${blob}`, {
      method: "DELETE",
      headers: authorization(KEYS.acmeUploader),
    });
    expect(deleted.status).toBe(204);
    expect((await create({ type: "image", blob }, own)).status).toBe(404);
    expect((await create({ type: "image", blob }, own, headers)).status).toBe(200);
  });

  test("with an https URL is refused, which this server does not fetch", async () => {
    const answer = await create({ type: "image", url: "https://example.com/a.png" });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      error: { code: "capability_unsupported", param: "input.0.content.1.url" },
    });
  });
});

describe("what a request names", () => {
  /** Existing blobs, each of the given size. */
  const rowsOf = (bytes: number, expiresAt = Date.now() + 3_600_000) =>
    ({
      async read(subject: string) {
        const id = subject.split(".").at(-1) as BlobId;
        const row: BlobRecord = {
          version: 1,
          kind: "blob",
          id,
          bytes,
          type: "application/pdf",
          sha256: "00",
          chunks: `upl_${"0".repeat(26)}` as BlobRecord["chunks"],
          by: "ann",
          ttl_seconds: 3_600,
          created_at: "2026-11-21T02:00:00.000Z",
          expires_at: new Date(expiresAt).toISOString(),
        };
        return { row, at: 1 };
      },
      write: async () => 2,
    }) as unknown as blobs.BlobStorage["rows"];
  const naming = (count: number) =>
    parseGenerationRequest({
      model: "m",
      input: [
        {
          role: "user",
          content: Array.from({ length: count }, (_, i) => ({
            type: "file",
            blob: `blob_${String(i).padStart(26, "0")}`,
          })),
        },
      ],
    });
  const blobsIn = (rows: blobs.BlobStorage["rows"]) => ({ allowed: undefined, use: useIn({ rows }) });
  const resolve = (count: number, rows: blobs.BlobStorage["rows"]) =>
    resolveMedia(naming(count), { blobs: blobsIn(rows), tenant: TENANT, forMs: 1_000 });

  test("has a limit of bytes, all of it together", async () => {
    const half = LIMITS.mediaBytes / 2;
    expect(Object.keys((await resolve(2, rowsOf(half)))!)).toHaveLength(2);
    await expect(resolve(3, rowsOf(half))).rejects.toMatchObject({
      code: "invalid_request",
      param: "input",
      message: expect.stringContaining(`${LIMITS.mediaBytes}`),
    });
  });

  test("counts to the limit of bytes by each part that names it", async () => {
    const blob = `blob_${"0".repeat(26)}`;
    const content = [1, 2, 3].map(() => ({ type: "file" as const, blob }));
    const half = blobsIn(rowsOf(LIMITS.mediaBytes / 2));
    const resolveUses = (uses: number) =>
      resolveMedia({ input: [{ role: "user", content: content.slice(0, uses) }] } as never, {
        blobs: half,
        tenant: TENANT,
        forMs: 1_000,
      });
    expect(Object.keys((await resolveUses(2))!)).toHaveLength(1);
    await expect(resolveUses(3)).rejects.toMatchObject({ code: "invalid_request", param: "input" });
  });

  test("has a limit of how many", async () => {
    const most = LIMITS.mediaReferences;
    expect(Object.keys((await resolve(most, rowsOf(1)))!)).toHaveLength(most);
    await expect(resolve(most + 1, rowsOf(1))).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining(`${most}`),
    });
  });

  test("is not there once its time is over", async () => {
    await expect(resolve(1, rowsOf(1, Date.now() - 1))).rejects.toMatchObject({
      code: "blob_not_found",
      param: "input.0.content.0.blob",
    });
  });
});
