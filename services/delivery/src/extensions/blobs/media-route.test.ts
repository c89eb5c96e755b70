import * as blobs from "@reprise/blobs";
import { type BlobId, blobKeySubject, parseTenantId } from "@reprise/protocol";
import fastify from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { authorization, KEYS, openPlatform, type Platform } from "../../testing/platform.ts";
import { addMediaRoute } from "./media-route.ts";
import type { NodeBlobs } from "./open-blobs.ts";
import { PNG, upload } from "../../testing/uploads.ts";

const ACME = parseTenantId("acme");
const BETA = parseTenantId("beta");

let platform: Platform;
let storage: blobs.BlobStorage;
let blob: BlobId;

beforeAll(async () => {
  platform = await openPlatform();
  storage = blobs.createBlobStorage({ broker: platform.broker, publish: platform.log.publish });
  blob = await stored("one");
});
afterAll(() => platform[Symbol.asyncDispose]());

async function stored(text: string): Promise<BlobId> {
  const content = Buffer.concat([PNG, Buffer.from(text)]);
  const { json } = await upload(platform.node.url, { content, type: "image/png" });
  return (json as { id: BlobId }).id;
}

const get = (path: string) => fetch(`${platform.node.url}${path}`);

describe("an address that a worker has signed", () => {
  test("gives the content without a key, as a file to save", async () => {
    const response = await get(await blobs.signLink(storage, ACME, blob));
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-disposition": "attachment",
      "content-security-policy": expect.stringContaining("sandbox"),
    });
    expect(Buffer.from(await response.arrayBuffer()).subarray(0, PNG.length)).toEqual(PNG);
  });

  test("is good where the worker's clock is ahead", async () => {
    const response = await get(await blobs.signLink(storage, ACME, blob, Date.now() + 30_000));
    expect(response.status).toBe(200);
    await response.arrayBuffer();
  });

  const other = (path: string) =>
    path.replace(/signature=./, (found) => (found.endsWith("A") ? "signature=B" : "signature=A"));
  test.each([
    ["is forged", async () => other(await blobs.signLink(storage, ACME, blob))],
    ["is over", () => blobs.signLink(storage, ACME, blob, Date.now() - blobs.LINK_SECONDS * 1_000 - 1_000)],
    ["is good for longer than any", () => blobs.signLink(storage, ACME, blob, Date.now() + 90_000)],
    [
      "was made longer",
      async () =>
        (await blobs.signLink(storage, ACME, blob)).replace(
          /expires=(\d+)/,
          (_, at) => `expires=${Number(at) - 1}`,
        ),
    ],
    [
      "was signed for another blob",
      async () => (await blobs.signLink(storage, ACME, blob)).replace(blob, await stored("two")),
    ],
    [
      "was signed by another tenant",
      async () => (await blobs.signLink(storage, BETA, blob)).replace("beta", "acme"),
    ],
    ["names another tenant", async () => (await blobs.signLink(storage, ACME, blob)).replace("acme", "beta")],
    [
      "names a tenant that is unknown",
      async () => (await blobs.signLink(storage, ACME, blob)).replace("acme", "nobody"),
    ],
    ["names no blob", async () => (await blobs.signLink(storage, ACME, blob)).replace(blob, "blob_1")],
  ])("that %s is answered like a blob that does not exist", async (_, pathOf) => {
    const response = await get(await pathOf());
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { code: "blob_not_found" } });
  });

  test("is answered so once its blob is deleted", async () => {
    const gone = await stored("gone");
    const path = await blobs.signLink(storage, ACME, gone);
    await fetch(`${platform.node.url}/v1/blobs/${gone}`, {
      method: "DELETE",
      headers: authorization(KEYS.acmeUploader),
    });
    expect((await get(path)).status).toBe(404);
  });

  test.each(["", "?expires=1", "?expires=2000000000&signature=x"])(
    "is refused as malformed: %j",
    async (query) => {
      expect((await get(`/v1/media/acme/${blob}${query}`)).status).toBe(400);
    },
  );
});

test("to ask for an address makes no key of a tenant that has none", async () => {
  await using fresh = await openPlatform();
  const rows = blobs.createBlobStorage({ broker: fresh.broker, publish: fresh.log.publish }).rows;
  const path = (await blobs.signLink(storage, ACME, blob)).replace("acme", "beta");
  expect((await fetch(`${fresh.node.url}${path}`)).status).toBe(404);
  expect((await rows.read(blobKeySubject(BETA))).row).toBeUndefined();
});

test("a tenant that is unknown costs no read", async () => {
  const app = fastify();
  // Any use of what it does not have would fail with another message.
  addMediaRoute(app, { blobs: { isTenant: () => false } as unknown as NodeBlobs });
  const { body } = await app.inject({ url: await blobs.signLink(storage, ACME, blob) });
  expect(JSON.parse(body)).toMatchObject({ message: "There is no blob with this id." });
});
