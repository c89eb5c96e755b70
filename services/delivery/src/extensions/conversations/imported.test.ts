import * as conversations from "@reprise/conversations";
import {
  CONVERSATION_LIMITS,
  type ConversationId,
  conversationSubject,
  effectiveRequest,
  parseConversationId,
  parseGenerationId,
  unixNow,
} from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, openPlatform, type Platform } from "../../testing/platform.ts";
import {
  ACME,
  assistant,
  openConversation,
  requestedOf,
  said,
  turn,
  user,
} from "../../testing/conversations.ts";

/* Conversations that are created with what was said before. */

let platform: Platform;
let rows: conversations.ConversationRows;
let url: string;

beforeAll(async () => {
  platform = await openPlatform();
  url = `${platform.node.url}/v1/conversations`;
  const { broker, log } = platform;
  rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
});
afterAll(() => platform[Symbol.asyncDispose]());

const SYSTEM = { role: "system", content: "Be brief." };
const items = [SYSTEM, user("One?"), assistant("1."), user("Two?"), assistant("2.")];
const itemsOf = async (conversation: ConversationId) =>
  ((await call(`${url}/${conversation}/items`)).json as { data: object[] }).data;
const rowOf = async (conversation: ConversationId) => (await rows.find(ACME, conversation)).row;

test("its items are before its first turn, and before all others", async () => {
  const conversation = await openConversation(platform, { items });
  expect(await itemsOf(conversation)).toEqual([
    { id: "instructions.0", generation: null, ...SYSTEM },
    { id: "imported.2", generation: null, ...user("One?") },
    { id: "imported.3", generation: null, ...assistant("1.") },
    { id: "imported.4", generation: null, ...user("Two?") },
    { id: "imported.5", generation: null, ...assistant("2.") },
  ]);
  for (const [order, texts] of Object.entries({ asc: ["Two?", "2."], desc: ["1.", "One?"] })) {
    const page = await call(
      `${url}/${conversation}/items?order=${order}&limit=2&after=imported.${order === "asc" ? 3 : 4}`,
    );
    expect((page.json as { data: { content: string }[] }).data.map(({ content }) => content)).toEqual(texts);
  }
  const first = await said(platform, { conversation, input: "Three?" }, "3.");
  expect(effectiveRequest(await requestedOf(platform, first)).input).toEqual([...items, user("Three?")]);
  expect(await itemsOf(conversation)).toMatchObject([...items, user("Three?"), assistant("3.")]);
  expect(await rowOf(conversation)).toHaveProperty("items");
  const second = await turn(platform, { conversation, input: "Four?" });
  const { input } = effectiveRequest(await requestedOf(platform, second));
  expect(input).toEqual([...items, user("Three?"), assistant("3."), user("Four?")]);
  // The first turn's log has them now.
  expect(await rowOf(conversation)).not.toHaveProperty("items");
});

test("a first turn that never came leaves them to the next one", async () => {
  const conversation = await openConversation(platform, { items });
  const { row, at } = await rows.find(ACME, conversation);
  const lost = parseGenerationId(`gen_0_${"4".repeat(26)}`);
  const head = { generation: lost, claimed_at: new Date(unixNow() - 61_000).toISOString() };
  await rows.write(conversationSubject(ACME, conversation), { ...row, turns: 1, head }, at);
  const first = await turn(platform, { conversation, input: "Three?" });
  expect(effectiveRequest(await requestedOf(platform, first)).input).toEqual([...items, user("Three?")]);
});

test("its key names it with these items and no others, also once its row is without them", async () => {
  const headers = { "idempotency-key": "imported" };
  const { json } = await call(url, { body: { items }, headers });
  const { id } = json as { id: string };
  const conversation = parseConversationId(id);
  for (const input of ["a", "b"]) {
    expect(await call(url, { body: { items }, headers })).toMatchObject({ status: 200, json: { id } });
    await said(platform, { conversation, input }, "c");
  }
  expect(await call(url, { body: { items }, headers })).toMatchObject({ status: 200, json: { id } });
  for (const body of [{ items: items.slice(1) }, {}])
    expect(await call(url, { body, headers })).toMatchObject({
      status: 409,
      json: { error: { code: "idempotency_conflict" } },
    });
});

test("its list has none of them", async () => {
  await openConversation(platform, { items, end_user: "imp" });
  const { text } = await call(`${url}?end_user=imp`);
  expect(text).toContain('"end_user":"imp"');
  expect(text).not.toContain("One?");
});

test.each([
  ["none", [], "items"],
  ["too many", Array(CONVERSATION_LIMITS.importedItems + 1).fill(user("a")), "items"],
  ["what is no message", [{ role: "user" }], "items.0.content"],
  ["an answer without its call", [user("a"), { role: "tool", call_id: "c", output: 1 }], "items.1.call_id"],
  [
    "a URL",
    [{ role: "user", content: [{ type: "image", url: "https://example.com/a.png" }] }],
    "items.0.content.0.url",
  ],
])("%s is refused", async (_, wrong, param) => {
  expect(await call(url, { body: { items: wrong } })).toMatchObject({
    status: 400,
    json: { error: { code: "invalid_request", param } },
  });
});
