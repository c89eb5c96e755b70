import * as blobs from "@reprise/blobs";
import { type BlobId, blobSubject, LIMITS, parseTenantId } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { PNG, upload } from "../../testing/uploads.ts";
import { HOST } from "../../egress/tls-host.fixture.ts";
import { IMAGE, openFetching, sends, URL_A } from "./fetching.fixture.ts";

const TENANT = parseTenantId("acme");
const URL_B = `https://${HOST}/b.png`;
const OTHER = Buffer.concat([IMAGE, Buffer.from("other")]);

type World = Awaited<ReturnType<typeof openFetching>>;

const storageOf = ({ platform: { broker, log } }: World) =>
  blobs.createBlobStorage({ broker, publish: log.publish });
/** Returns the size of each of the tenant's blobs. */
const blobsOf = (world: World) =>
  Array.fromAsync(storageOf(world).rows.list(), ({ row }) => (row.kind === "blob" ? [row.bytes] : [])).then(
    (rows) => rows.flat().toSorted((a, b) => a - b),
  );
const asking = (...parts: object[]) => ({ input: [{ role: "user", content: parts }] });
const image = (url: string) => ({ type: "image", url });

/** Uploads a blob of the tenant, and records the given size for it. */
async function storedAs(world: World, bytes: number): Promise<BlobId> {
  const { json } = await upload(world.node.url, { content: PNG, type: "image/png" });
  const { id } = json as { id: BlobId };
  const storage = storageOf(world);
  const { row, at } = await blobs.findBlob(storage, TENANT, id);
  await storage.rows.write(blobSubject(TENANT, id), { ...row, bytes }, at);
  return id;
}

describe("the URLs of one request", () => {
  test.each([
    ["told", { "content-length": `${IMAGE.length}` }],
    ["untold", {}],
  ])(
    "have together with its blobs what one request may name: %s, one more is given up as it comes",
    async (_, headers) => {
      await using world = await openFetching((_request, response) =>
        response.writeHead(200, { "content-type": "image/png", ...headers }).end(IMAGE),
      );
      const size = LIMITS.mediaBytes - IMAGE.length;
      const blob = await storedAs(world, size);
      const part = { type: "image", blob };
      expect((await world.create({}, asking(part, image(URL_A)))).status).toBe(201);
      const before = await blobsOf(world);
      const larger = await storedAs(world, size + 1);
      const refused = await world.create({}, asking({ type: "image", blob: larger }, image(URL_B)));
      expect(refused).toMatchObject({
        status: 400,
        json: { error: { code: "invalid_request", param: "input.0.content.1.url" } },
      });
      const after = before.map((bytes) => (bytes === size ? size + 1 : bytes));
      expect(await blobsOf(world)).toEqual(after);
    },
  );

  test("have one time, and what was stored is removed where another one does not come", async () => {
    await using world = await openFetching(
      (request, response) => void (request.url === "/a.png" && sends(IMAGE, "image/png")(request, response)),
      { requestMs: 3_000, headersMs: 600_000, totalMs: 600_000 },
    );
    const answer = await world.create({}, asking(image(URL_A), image(URL_B)));
    expect(answer).toMatchObject({
      status: 502,
      json: {
        error: { code: "media_unavailable", param: expect.stringMatching(/^input\.0\.content\.[01]\.url$/) },
      },
    });
    expect(await blobsOf(world)).toEqual([]);
  });

  test("that others have found meanwhile stay theirs", async () => {
    const [asked, refuse] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using world = await openFetching((request, response) => {
      if (request.url === "/a.png") return sends(IMAGE, "image/png")(request, response);
      asked.resolve();
      void refuse.promise.then(() => response.writeHead(404).end());
    });
    const creating = world.create({}, asking(image(URL_A), image(URL_B)));
    await asked.promise;
    expect((await world.create(image(URL_A))).status).toBe(201);
    refuse.resolve();
    expect((await creating).status).toBe(400);
    expect(await blobsOf(world)).toEqual([IMAGE.length]);
  });

  test("are removed where the create fails after them", async () => {
    await using world = await openFetching(sends(OTHER, "image/png"));
    const fields = { ...asking(image(URL_A), { type: "audio", url: URL_A }) };
    expect((await world.create({}, fields)).status).toBe(400);
    expect(await blobsOf(world)).toEqual([]);
  });
});
