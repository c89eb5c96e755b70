import type { Generation } from "@reprise/protocol";
import { expect, test } from "vitest";
import { upload } from "../../testing/uploads.ts";
import { authorization, KEYS } from "../../testing/platform.ts";
import { type Answer, IMAGE, NARROW, openFetching, sends, URL_A } from "./fetching.fixture.ts";

test("an https URL becomes a blob, which seq 0 names beside the request as it was sent", async () => {
  await using world = await openFetching(sends(IMAGE, "image/png"));
  const part = { type: "image", url: URL_A };
  const { status, json } = await world.create(part);
  expect(status).toBe(201);
  const { request, media } = await world.seq0(json as Generation);
  expect(request).toMatchObject({ input: [{ content: [part] }] });
  expect(media[URL_A]).toMatchObject({ type: "image/png", bytes: IMAGE.length });
  const blob = await fetch(`${world.node.url}/v1/blobs/${media[URL_A]!.blob}`, {
    headers: authorization(KEYS.acmeUploader),
  });
  expect(Buffer.compare(Buffer.from(await blob.arrayBuffer()), IMAGE)).toBe(0);
});

test("a create that joins fetches nothing, and one URL is fetched once for all parts that name it", async () => {
  await using world = await openFetching(sends(IMAGE, "image/png"));
  const fields = {
    input: [
      {
        role: "user",
        content: [
          { type: "image", url: URL_A },
          { type: "file", url: URL_A },
        ],
      },
    ],
  };
  const once = { headers: { "idempotency-key": "once" } };
  expect((await world.create({}, fields, once)).status).toBe(201);
  expect((await world.create({}, fields, once)).status).toBe(200);
  expect(world.host.dialled).toHaveLength(1);
});

test.each([
  ["is a page where an image was named", sends("<html>", "text/html"), 400, "invalid_request"],
  ["is not what its server declares", sends("<html>", "image/png"), 400, "invalid_request"],
  ["is empty", sends("", "image/png"), 400, "invalid_request"],
  ["is not there", (_r, response) => response.writeHead(404).end(), 400, "invalid_request"],
  ["can't be had now", (_r, response) => response.writeHead(503).end(), 502, "media_unavailable"],
] satisfies [string, Answer, number, string][])(
  "content that %s is refused by the part's path, and nothing is stored",
  async (_, answer, status, code) => {
    await using world = await openFetching(answer);
    const once = { headers: { "idempotency-key": "once" } };
    const refused = await world.create({ type: "image", url: URL_A }, {}, once);
    expect(refused.status).toBe(status);
    expect(refused.json).toMatchObject({ error: { code, param: "input.0.content.0.url" } });
    // The key is still free.
    expect((await world.create({ type: "text", text: "x" }, {}, once)).status).toBe(201);
  },
);

test("content of another kind than its part's is no blob of the tenant's", async () => {
  const content = Buffer.from("<html>");
  await using world = await openFetching(sends(content, "text/html"));
  expect((await world.create({ type: "image", url: URL_A })).status).toBe(400);
  expect((await upload(world.node.url, { content, type: "text/html" })).status).toBe(201);
});

test("a host that is not on the list is refused, and so is a create beyond its tenant's limits: neither fetches", async () => {
  await using world = await openFetching(sends(IMAGE, "image/png"));
  expect((await world.create({ type: "image", url: "https://evil.example/a.png" })).json).toMatchObject({
    error: { code: "invalid_request", param: "input.0.content.0.url" },
  });
  const narrow = { key: NARROW.key };
  expect((await world.create({ type: "text", text: "x" }, {}, narrow)).status).toBe(201);
  expect((await world.create({ type: "image", url: URL_A }, {}, narrow)).status).toBe(429);
  expect(world.host.resolved).toEqual([]);
});
