import { expect, it } from "vitest";
import type { Client } from "../client.ts";
import { createTestClient } from "../testing/test-runtime.ts";
import { conversationsOf } from "./conversations-of.ts";
import { modelsOf } from "../models/index.ts";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly body: string | undefined;
}

/** A client of a platform that gives these answers, one after the other; `undefined` is a connection that breaks. */
function clientOf(answers: readonly (object | undefined)[]): { client: Client; sent: Sent[] } {
  const sent: Sent[] = [];
  const client = createTestClient("http://platform.test", {
    fetch: async (url, { method, headers, body }) => {
      const answer = answers[sent.length];
      sent.push({
        method,
        path: url.replace("http://platform.test", ""),
        key: headers["idempotency-key"],
        body: body as string | undefined,
      });
      if (!answer) throw new Error("reset");
      return new Response(JSON.stringify(answer), { status: 200 });
    },
  });
  return { client, sent };
}

it("a create that breaks off is repeated with the key of its first try, and body and key are the app's", async () => {
  const { client, sent } = clientOf([undefined, { id: "conv_1" }, { id: "conv_2" }]);
  const conversations = conversationsOf(client);
  expect(await conversations.create()).toEqual({ id: "conv_1" });
  await conversations.create({ when_full: "error", ttl_seconds: 90 }, { idempotencyKey: "mine" });
  const [first, again, own] = sent;
  expect(first).toMatchObject({ method: "POST", path: "/v1/conversations", body: "{}" });
  expect(first!.key).toMatch(/^[\w-]{32,36}$/);
  expect(again).toEqual(first);
  expect(own).toMatchObject({ key: "mine", body: '{"when_full":"error","ttl_seconds":90}' });
  expect(() => conversations.create({}, { idempotencyKey: "ä" })).toThrow("idempotencyKey");
});

it("lists are read page by page up to the one without a cursor, empty ones too, as far as the loop goes", async () => {
  const pages = [
    { data: [{ id: "conv_1" }], cursor: "7" },
    { data: [], cursor: "9" },
    { data: [{ id: "conv_2" }] },
  ];
  const { client, sent } = clientOf(pages);
  const listed = await Array.fromAsync(conversationsOf(client).list({ endUser: "a b" }));
  expect(listed).toEqual([{ id: "conv_1" }, { id: "conv_2" }]);
  expect(sent.map(({ path }) => path)).toEqual([
    "/v1/conversations?end_user=a%20b&limit=100",
    "/v1/conversations?end_user=a%20b&after=7&limit=100",
    "/v1/conversations?end_user=a%20b&after=9&limit=100",
  ]);

  const left = clientOf([{ data: [{ id: "a.0" }, { id: "a.1" }], cursor: "a.1" }]);
  for await (const item of conversationsOf(left.client).items("conv_1", { order: "desc", after: "b.0" })) {
    expect(item.id).toBe("a.0");
    break;
  }
  expect(left.sent.map(({ path }) => path)).toEqual([
    "/v1/conversations/conv_1/items?order=desc&after=b.0&limit=100",
  ]);
});

it("a delete answers with nothing, and models are what the platform lists", async () => {
  const { client, sent } = clientOf([{ status: "erasing" }, { data: [{ id: "sim" }] }]);
  expect(await conversationsOf(client).delete("conv_1")).toBeUndefined();
  expect(await modelsOf(client)).toEqual([{ id: "sim" }]);
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "DELETE /v1/conversations/conv_1",
    "GET /v1/models",
  ]);
});
