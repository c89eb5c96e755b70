import * as conversations from "@reprise/conversations";
import {
  conversationSubject,
  type GenerationId,
  parseConversationId,
  RepriseError,
  unixNow,
} from "@reprise/protocol";
import { createRef } from "@reprise/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  expire,
  openAuditedPlatform,
  type AuditedPlatform,
  readAccesses,
} from "../../testing/audited-platform.ts";
import { decide, judge, redacted } from "../../testing/moderation.ts";
import { append, call, completed, delta, KEYS, started } from "../../testing/platform.ts";
import {
  ACME,
  ask,
  assistant,
  openConversation,
  requestedOf,
  said,
  say,
  turn,
  user,
  workerOf,
} from "../../testing/conversations.ts";

let platform: AuditedPlatform;
let url: string;
let rows: conversations.ConversationRows;
let accounts: conversations.ConversationAccounts;

beforeAll(async () => {
  platform = await openAuditedPlatform();
  url = `${platform.node.url}/v1/conversations`;
  const { broker, log } = platform;
  rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
  accounts = new conversations.ConversationAccounts(rows);
});
afterAll(() => platform[Symbol.asyncDispose]());

interface Items {
  readonly data: readonly { readonly id: string; readonly generation: string; readonly content: string }[];
  readonly cursor?: string;
}

const itemsOf = async (conversation: string, query = "", key: string = KEYS.acmeReader) =>
  (await call(`${url}/${conversation}/items${query}`, { key })).json as Items;
const afterOf = (page: Items | undefined) => (page ? `&after=${page.cursor}` : "");
const said2 = ({ data }: Items) => data.map(({ content }) => content);

describe("a conversation", () => {
  test("is created with what its client says, shown, and found again by its key", async () => {
    const body = {
      metadata: { team: "a" },
      subject: "s",
      end_user: "ann",
      ttl_seconds: 60,
      on_busy: "queue",
      when_full: "truncate_oldest",
    };
    const headers = { "idempotency-key": "one" };
    const created = await call(url, { body, headers });
    expect(created).toMatchObject({
      status: 201,
      json: { object: "conversation", turns: 0, head: null, ...body },
    });
    const { id } = created.json as { id: string };
    expect(created.headers.get("location")).toBe(`/v1/conversations/${id}`);
    expect(await call(`${url}/${id}`, { key: KEYS.acmeReader })).toMatchObject({
      status: 200,
      json: created.json,
    });
    expect(await call(url, { body, headers })).toMatchObject({ status: 200, json: { id } });
    const other = await call(url, { body: { ...body, ttl_seconds: 61 }, headers });
    expect(other).toMatchObject({ status: 409, json: { error: { code: "idempotency_conflict" } } });
  });

  test.each([
    [{ ttl_seconds: 59 }, "ttl_seconds"],
    [{ ttl_seconds: 31_536_001 }, "ttl_seconds"],
    [{ when_full: "forget" }, "when_full"],
    [{ on_busy: "wait" }, "on_busy"],
    [{ subject: "" }, "subject"],
    [{ metadata: { a: 1 } }, "metadata.a"],
  ])("is refused with %j", async (body, param) => {
    expect(await call(url, { body })).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param } },
    });
  });

  test("is not there for another tenant, or after its time", async () => {
    const id = await openConversation(platform);
    const over = await openConversation(platform);
    const { row, at } = await rows.find(ACME, over);
    const expires_at = new Date(unixNow() - 1).toISOString();
    await rows.write(conversationSubject(ACME, over), { ...row, expires_at }, at);
    const missing = { status: 404, json: { error: { code: "conversation_not_found" } } };
    for (const path of ["", "/items"]) {
      expect(await call(`${url}/${id}${path}`, { key: KEYS.beta })).toMatchObject(missing);
      expect(await call(`${url}/${over}${path}`)).toMatchObject(missing);
      expect(await call(`${url}/conv_x${path}`)).toMatchObject(missing);
    }
    expect(await ask(platform, { conversation: over })).toMatchObject(missing);
  });

  test("is removed by a sweep after its time, by one of many processes", async () => {
    const id = await openConversation(platform, { ttl_seconds: 60 });
    const kept = await openConversation(platform, { ttl_seconds: 3_600 });
    const nowMs = (unixNow() + 180_000) as ReturnType<typeof unixNow>;
    const swept = await Promise.all(
      Array.from({ length: 4 }, () => conversations.sweepConversations({ rows, accounts }, { nowMs })),
    );
    expect(swept.filter((one) => one !== undefined)).toHaveLength(1);
    expect(await rows.read(ACME, id)).toMatchObject({ row: undefined });
    expect((await rows.find(ACME, kept)).row.id).toBe(kept);
  });

  test("lives on with each turn", async () => {
    const conversation = await openConversation(platform, { ttl_seconds: 60 });
    const { row, at } = await rows.find(ACME, conversation);
    const expires_at = new Date(unixNow() + 30_000).toISOString();
    await rows.write(conversationSubject(ACME, conversation), { ...row, expires_at }, at);
    await turn(platform, { conversation });
    const renewed = await rows.find(ACME, conversation);
    expect(Date.parse(renewed.row.expires_at)).toBeGreaterThan(Date.parse(expires_at));
  });
});

test("a tenant's conversations are listed in pages, those of one end user apart", async () => {
  const key = KEYS.beta;
  const ids: string[] = [];
  for (const end_user of ["ann", "bob", "ann", "bob", "ann"])
    ids.push(await openConversation(platform, { end_user }, key));
  const page = async (query: string) =>
    (await call(`${url}?${query}`, { key })).json as { data: { id: string }[]; cursor?: string };
  const all = await page("");
  expect(all.data.map(({ id }) => id)).toEqual(ids);
  expect(all).not.toHaveProperty("cursor");
  const anns = await page("end_user=ann&limit=2");
  expect(anns.data.map(({ id }) => id)).toEqual([ids[0], ids[2]]);
  const rest = await page(`end_user=ann&limit=2&after=${anns.cursor}`);
  expect(rest.data.map(({ id }) => id)).toEqual([ids[4]]);
  expect(await call(`${url}?after=x`, { key })).toMatchObject({
    status: 400,
    json: { error: { param: "after" } },
  });
});

test("an end user's token creates, lists and reads that user's conversations, and no others", async () => {
  const minted = await call(`${platform.node.url}/v1/tokens`, {
    key: KEYS.beta,
    body: { scopes: ["create", "read"], end_user: "cid" },
  });
  const { token: key } = minted.json as { token: string };
  const others = await openConversation(platform, { end_user: "dan" }, KEYS.beta);
  const made = await call(url, { key, body: { metadata: { title: "Tides" } } });
  expect(made).toMatchObject({ status: 201, json: { end_user: "cid", metadata: { title: "Tides" } } });
  const { id } = made.json as { id: string };
  expect(await call(url, { key })).toMatchObject({ json: { data: [{ id }] } });
  expect(await call(`${url}/${id}`, { key })).toMatchObject({ status: 200, json: { id } });
  expect(await call(`${url}/${id}/items`, { key })).toMatchObject({ status: 200, json: { data: [] } });
  for (const path of [others, `${others}/items`])
    expect(await call(`${url}/${path}`, { key })).toMatchObject({ status: 404 });
  expect(await call(`${url}?end_user=dan`, { key })).toMatchObject({
    json: { error: { param: "end_user" } },
  });
  for (const body of [{ end_user: "dan" }, { items: [user("Hi")] }, { ttl_seconds: 60 }]) {
    const [param] = Object.keys(body);
    expect(await call(url, { key, body })).toMatchObject({ json: { error: { param } } });
  }
});

test("an end user's token is shown no instructions of that user's conversations, in any turn", async () => {
  const conversation = await openConversation(platform, {
    end_user: "gus",
    items: [{ role: "system", content: "imported" }, user("Hi")],
  });
  const asked = [{ role: "developer", content: "D" }, user("a")];
  await said(platform, { conversation, input: asked }, "b");
  await said(platform, { conversation, input: asked }, "d");
  const body = { scopes: ["read"], end_user: "gus" };
  const minted = await call(`${platform.node.url}/v1/tokens`, { body, key: KEYS.acmeReader });
  const { token } = minted.json as { token: string };
  expect(said2(await itemsOf(conversation))).toEqual(["imported", "Hi", "D", "a", "b", "D", "a", "d"]);
  for (const order of ["asc", "desc"]) {
    const pages: Items[] = [];
    do pages.push(await itemsOf(conversation, `?limit=1&order=${order}${afterOf(pages.at(-1))}`, token));
    while (pages.at(-1)?.cursor !== undefined);
    const texts = pages.flatMap(said2);
    expect(order === "asc" ? texts : texts.toReversed()).toEqual(["Hi", "a", "b", "a", "d"]);
    expect(pages).toHaveLength(texts.length);
  }
});

test("an end user's Idempotency-Key names a conversation of that user alone", async () => {
  const headers = { "idempotency-key": "chat-1" };
  const create = async (end_user: string) => {
    const body = { scopes: ["create", "read"], end_user };
    const minted = await call(`${platform.node.url}/v1/tokens`, { key: KEYS.beta, body });
    const { token: key } = minted.json as { token: string };
    const created = [
      await call(url, { key, body: {}, headers }),
      await call(url, { key, body: {}, headers }),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 200]);
    return (created[0]!.json as { id: string }).id;
  };
  const ids = [await create("eve"), await create("fay")];
  const own = await call(url, { key: KEYS.beta, body: {}, headers });
  expect(own.status).toBe(201);
  expect(ids).not.toContain((own.json as { id: string }).id);
});

describe("items", () => {
  test("are what was asked and said, in pages of both orders, and what was asked of a turn that continues", async () => {
    const conversation = await openConversation(platform);
    const first = await said(
      platform,
      { conversation, input: [{ role: "system", content: "S" }, user("a")] },
      "b",
    );
    await said(platform, { conversation, input: "c" }, "d");
    const running = await turn(platform, { conversation, input: "e" });
    await append(await workerOf(platform, running), started(1), delta("not yet"));

    const all = await itemsOf(conversation);
    expect(said2(all)).toEqual(["S", "a", "b", "c", "d", "e"]);
    expect(all.data[1]).toEqual({ id: `${first}.0`, generation: first, ...user("a") });
    expect(all.data[0]).toMatchObject({ id: "instructions.0", generation: null });
    expect(all).not.toHaveProperty("cursor");
    const page = await itemsOf(conversation, "?limit=2&order=desc");
    expect(said2(page)).toEqual(["e", "d"]);
    expect(said2(await itemsOf(conversation, `?limit=9&order=desc&after=${page.cursor}`))).toEqual([
      "c",
      "b",
      "a",
      "S",
    ]);
    for (const order of ["asc", "desc"])
      for (const limit of [1, 2, 3, 5, 6]) {
        const pages: Items[] = [];
        do pages.push(await itemsOf(conversation, `?limit=${limit}&order=${order}${afterOf(pages.at(-1))}`));
        while (pages.at(-1)?.cursor !== undefined);
        const texts = pages.flatMap(said2);
        expect(order === "asc" ? texts : texts.toReversed()).toEqual(said2(all));
        expect(pages).toHaveLength(Math.ceil(texts.length / limit));
      }
    for (const after of [`${createRef().generation}.0`, "instructions", "x.1"]) {
      const stray = await call(`${url}/${conversation}/items?after=${after}`);
      expect(stray).toMatchObject({ status: 400, json: { error: { code: "cursor_invalid" } } });
    }
  });

  test("of turns that have waited for each other come out of the archive like others", async () => {
    const conversation = await openConversation(platform, { on_busy: "queue" });
    const turns = [
      await turn(platform, { conversation, input: "a" }),
      await turn(platform, { conversation, input: "c" }),
      await turn(platform, { conversation, input: "e" }),
    ];
    for (const [i, generation] of turns.entries()) await say(platform, generation, ["b", "d", "f"][i]!);
    for (const generation of turns) {
      await platform.audit.archive({ tenant: ACME, generation });
      await expire(platform, { tenant: ACME, generation });
    }
    expect(said2(await itemsOf(conversation))).toEqual(["a", "b", "c", "d", "e", "f"]);
    const next = await turn(platform, { conversation, input: "g" });
    const { prompt = [] } = await requestedOf(platform, next);
    expect(prompt.map(({ generation }) => generation)).toEqual(turns);
  });

  test("of a turn after its retention come out of the archive, and so does a prompt; that access is recorded", async () => {
    const conversation = await openConversation(platform);
    const first = await said(platform, { conversation, input: "a" }, "b");
    const ref = { tenant: ACME, generation: first };
    await platform.audit.archive(ref);
    await expire(platform, ref);
    expect(said2(await itemsOf(conversation))).toEqual(["a", "b"]);
    const accesses = (await readAccesses(platform)).filter(({ generation }) => generation === first);
    expect(accesses).toMatchObject([{ record: { call: "read" } }]);
    const next = await turn(platform, { conversation, input: "c" });
    const { prompt = [] } = await requestedOf(platform, next);
    expect(prompt.flatMap(({ items }) => items)).toEqual([user("a"), assistant("b")]);
  });
});

test("a turn whose last one only the archive has is refused while that is away, and nothing is stored", async () => {
  const conversation = await openConversation(platform);
  const first = await said(platform, { conversation }, "b");
  await expire(platform, { tenant: ACME, generation: first });
  platform.audit.intercept = () => {
    throw new RepriseError("audit_unavailable", "It is away.");
  };
  const answer = await ask(platform, { conversation });
  platform.audit.intercept = () => {};
  expect(answer).toMatchObject({ status: 503, json: { error: { code: "audit_unavailable" } } });
  // Nor does the archive have it: what was said is lost, and that is told.
  expect(await ask(platform, { conversation })).toMatchObject({
    status: 410,
    json: { error: { code: "generation_expired" } },
  });
  expect((await rows.find(ACME, conversation)).row.head?.generation).toBe(first);
});

describe("a conversation that is deleted", () => {
  test("takes no further turn, is not shown, and is left to the audit log with its last turn", async () => {
    const conversation = await openConversation(platform);
    const head: GenerationId = await said(platform, { conversation }, "b");
    const remove = (key: string) => call(`${url}/${conversation}`, { method: "DELETE", key });
    expect((await remove(KEYS.acme)).status).toBe(403);
    const answer = { status: 202, json: { id: conversation, object: "conversation", status: "erasing" } };
    expect(await remove(KEYS.acmeEraser)).toMatchObject(answer);
    expect(await remove(KEYS.acmeEraser)).toMatchObject(answer);
    expect((await rows.read(ACME, parseConversationId(conversation))).row).toMatchObject({
      kind: "deleted",
      by: "era",
      head,
    });
    const missing = { status: 404, json: { error: { code: "conversation_not_found" } } };
    expect(await call(`${url}/${conversation}`)).toMatchObject(missing);
    expect(await call(`${url}/${conversation}/items`)).toMatchObject(missing);
    expect(await ask(platform, { conversation })).toMatchObject(missing);
  });

  test("while a turn is claimed: the claim or the removal wins", async () => {
    for (let i = 0; i < 5; i++) {
      const conversation = await openConversation(platform);
      const [asked] = await Promise.all([
        ask(platform, { conversation }),
        call(`${url}/${conversation}`, { method: "DELETE", key: KEYS.acmeEraser }),
      ]);
      const { row } = await rows.read(ACME, conversation);
      const { id } = asked.json as { id?: string };
      // Whatever has a generation is known to the erasure.
      expect(row).toMatchObject({ kind: "deleted", ...(asked.status === 201 ? { head: id } : {}) });
      expect([201, 404, 409]).toContain(asked.status);
    }
  });
});

test("what a moderated turn's readers may not have is withheld from the next one", async () => {
  const conversation = await openConversation(platform);
  const moderation = { mode: "gate", rules: [{ terms: ["secret"] }] };
  const first = await turn(platform, { conversation, policy: { moderation } });
  await append(await workerOf(platform, first), started(1), delta("It is a secret."), completed());
  // No moderation runs here: nothing of it is cleared.
  const answer = await ask(platform, { conversation });
  expect(answer).toMatchObject({ status: 409, json: { error: { code: "conversation_busy" } } });
  expect(said2(await itemsOf(conversation))).toEqual(["hello"]);
  const ref = { tenant: ACME, generation: first };
  await judge(platform, ref, 3);
  const next = await turn(platform, { conversation, policy: { moderation } });
  expect((await requestedOf(platform, next)).prompt).toMatchObject([{ generation: first, seq: 3 }]);
  // Withdrawn after the end of the next turn: later turns leave it out.
  await append(await workerOf(platform, next), started(1), delta("Yes."), completed());
  await judge(platform, { tenant: ACME, generation: next }, 3);
  await decide(platform, ref, redacted(2, 2, "[removed]"));
  expect(said2(await itemsOf(conversation))).toEqual(["hello", "[removed]", "hello", "Yes."]);
  const last = await turn(platform, { conversation, policy: { moderation } });
  const { prompt = [] } = await requestedOf(platform, last);
  expect(prompt.flatMap(({ items }) => items)).toEqual([
    user("hello"),
    assistant("[removed]"),
    user("hello"),
    assistant("Yes."),
  ]);
});
