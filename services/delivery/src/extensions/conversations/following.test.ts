import * as conversations from "@reprise/conversations";
import { STREAM_START } from "@reprise/protocol";
import { describe, expect, test } from "vitest";
import { requestedOf } from "../../testing/conversations.ts";
import { decide, judge, redacted } from "../../testing/moderation.ts";
import { append, call, KEYS, openPlatform, started, toolCall } from "../../testing/platform.ts";
import { findableRequests } from "../../routes/openai/chat.fixture.ts";
import {
  askResponse,
  beginResponse,
  ENDED_WITH_CALLS,
  endedResponse,
  type ResponseJson,
} from "../../routes/openai/responses/responses.fixture.ts";

const user = (content: string) => ({ role: "user", content });
const assistant = (content: string) => ({ role: "assistant", content });
const ABSENT = `resp_${"0".repeat(26)}0`;

describe("a response after another one", () => {
  test("of no conversation begins one with what that one was asked and has answered, and the next one is its next turn", async () => {
    await using platform = await openPlatform();
    const first = await endedResponse(platform, "One.", { input: "Count.", instructions: "Be short." });
    const second = await endedResponse(platform, "Two.", { input: "And?", previous_response_id: first.id });
    const seen = await requestedOf(platform, second.ref.generation);
    expect(seen.prompt?.flatMap(({ items }) => items)).toEqual([
      { role: "system", content: "Be short." },
      user("Count."),
      assistant("One."),
    ]);
    const third = await beginResponse(platform, { input: "Then?", previous_response_id: second.id });
    const { context, prompt } = await requestedOf(platform, third.ref.generation);
    expect(context).toMatchObject({
      conversation: seen.context?.conversation,
      parent: second.ref.generation,
      turn: 2,
    });
    expect(prompt?.flatMap(({ items }) => items).slice(-2)).toEqual([user("And?"), assistant("Two.")]);
    expect((await call(third.url)).json).toMatchObject({
      previous_response_id: second.id,
      conversation: { id: seen.context?.conversation },
    });
  });

  test("answers its calls", async () => {
    await using platform = await openPlatform();
    const tools = [{ type: "function", name: "look_up", parameters: {} }];
    const first = await beginResponse(platform, { tools });
    await append(first.worker, started(1), toolCall("c1"), ENDED_WITH_CALLS);
    const answer = { type: "function_call_output", call_id: "c1", output: "found" };
    const second = await beginResponse(platform, { tools, input: [answer], previous_response_id: first.id });
    expect(second.response.status).toBe("queued");
    const other = await askResponse(platform.node, {
      input: [{ ...answer, call_id: "c9" }],
      background: true,
    });
    expect(other).toMatchObject({ status: 400, json: { error: { param: "input.0.call_id" } } });
  });

  test("is the same where the package openai sends it again by itself, without a key", async () => {
    await using platform = await openPlatform();
    const { id } = await endedResponse(platform, "One.");
    const send = (retries: number) =>
      beginResponse(
        platform,
        { input: "And?", previous_response_id: id },
        { headers: { "x-stainless-retry-count": String(retries) } },
      );
    const first = await send(0);
    await expect.poll(() => findableRequests(platform)).toBe(1);
    expect((await send(1)).id).toBe(first.id);
    expect((await send(0)).id).not.toBe(first.id);
  });

  test("is the same for the same Idempotency-Key, and another one without", async () => {
    await using platform = await openPlatform();
    const { id } = await endedResponse(platform, "One.");
    const headers = { "idempotency-key": "order-9" };
    const body = { input: "And?", previous_response_id: id };
    const one = await beginResponse(platform, body, { headers });
    const again = await beginResponse(platform, body, { headers });
    expect(again.id).toBe(one.id);
    const branch = await beginResponse(platform, body);
    const places = await Promise.all(
      [one, branch].map(async ({ ref }) => (await requestedOf(platform, ref.generation)).context),
    );
    expect(places[0]?.conversation).not.toBe(places[1]?.conversation);
    expect(places.map((place) => place?.turn)).toEqual([1, 1]);
  });

  test("needs one whose readers may have all of it, and goes without what is withdrawn of it later", async () => {
    await using platform = await openPlatform();
    const policy = { moderation: { mode: "retract" } };
    const { id, ref } = await endedResponse(platform, "A secret.", { policy });
    const previous = { previous_response_id: id };
    // No moderation runs here: nothing of it is judged.
    expect(await askResponse(platform.node, { ...previous, background: true })).toMatchObject({
      status: 409,
      json: { error: { code: "conversation_busy", param: "previous_response_id" } },
    });
    await judge(platform, ref, 3);
    const second = await endedResponse(platform, "Yes.", previous);
    const { context, prompt } = await requestedOf(platform, second.ref.generation);
    expect(prompt).toMatchObject([{ generation: ref.generation, items: [{}, { content: "A secret." }] }]);
    await decide(platform, ref, redacted(2, 2, "[removed]"));
    const items = await call(`${platform.node.url}/v1/conversations/${context?.conversation}/items`);
    expect(items.json).toMatchObject({
      data: [user("hello"), assistant("[removed]"), user("hello"), assistant("Yes.")],
    });
    const third = await beginResponse(platform, { previous_response_id: second.id });
    const seen = (await requestedOf(platform, third.ref.generation)).prompt?.flatMap((part) => part.items);
    expect(seen?.slice(0, 2)).toEqual([user("hello"), assistant("[removed]")]);
  });

  test("has another new conversation for an end user than for the tenant, by one Idempotency-Key", async () => {
    await using platform = await openPlatform();
    const { id } = await endedResponse(platform, "One.", { user: "ann" });
    const body = { scopes: ["create", "read"], end_user: "ann" };
    const { json } = await call(`${platform.node.url}/v1/tokens`, { body });
    const { token } = json as { token: string };
    const headers = { "idempotency-key": "one-key" };
    const ask = { previous_response_id: id };
    const placeOf = async (ofCaller: object) => {
      const { ref } = await beginResponse(platform, ask, { headers, ...ofCaller });
      return (await requestedOf(platform, ref.generation)).context?.conversation;
    };
    expect(await placeOf({ key: token })).not.toBe(await placeOf({}));
  });

  test("needs one that is there, and that has ended", async () => {
    await using platform = await openPlatform();
    const { id } = await beginResponse(platform);
    const ask = (previous: string, key?: string) =>
      askResponse(
        platform.node,
        { previous_response_id: previous, background: true },
        { ...(key && { key }) },
      );
    expect(await ask(id)).toMatchObject({ status: 409, json: { error: { code: "conversation_busy" } } });
    const absent = await ask(ABSENT);
    expect(absent).toMatchObject({ status: 404, json: { error: { param: "previous_response_id" } } });
    expect((await ask(id, KEYS.beta)).json).toEqual(absent.json);
  });
});

test("a response in a conversation is its next turn", async () => {
  await using platform = await openPlatform();
  const { json } = await call(`${platform.node.url}/v1/conversations`, {
    body: { items: [user("Hi"), assistant("Ho")] },
  });
  const { id } = json as { id: string };
  const { ref, url } = await beginResponse(platform, { conversation: id });
  expect((await requestedOf(platform, ref.generation)).context).toMatchObject({ conversation: id, turn: 1 });
  expect((await call(url)).json).toMatchObject({ conversation: { id } });
});

describe("an item that a request refers to", () => {
  test("is in its place, as it was said", async () => {
    await using platform = await openPlatform();
    const { url } = await endedResponse(platform, "One.");
    const [item] = ((await call(url)).json as ResponseJson).output;
    const input = [user("Count."), { type: "item_reference", id: item!.id }, user("And?")];
    const { ref } = await beginResponse(platform, { input });
    const { request } = await requestedOf(platform, ref.generation);
    expect(request.input).toEqual([user("Count."), assistant("One."), user("And?")]);
  });

  test("has to be there, within the caller's reach", async () => {
    await using platform = await openPlatform();
    const { url } = await endedResponse(platform, "One.");
    const [item] = ((await call(url)).json as ResponseJson).output;
    const ask = (id: string, key?: string) =>
      askResponse(
        platform.node,
        { input: [{ type: "item_reference", id }], background: true },
        { ...(key && { key }) },
      );
    const refused = { status: 400, json: { error: { param: "input.0.id" } } };
    expect(await ask("msg_1")).toMatchObject(refused);
    expect(await ask(`${item!.id}9`)).toMatchObject(refused);
    expect(await ask(item!.id, KEYS.beta)).toMatchObject(refused);
  });
});

describe("what a response was asked", () => {
  test("is shown to keys that create and read, a page at a time", async () => {
    await using platform = await openPlatform();
    const input = [user("One"), user("Two"), user("Three")];
    const { url } = await beginResponse(platform, { input });
    const textOf = ({ json }: { json: unknown }) =>
      (json as { data: { content: { text: string }[] }[] }).data.map(({ content }) => content[0]?.text);
    const newest = await call(`${url}/input_items?limit=2`);
    expect(textOf(newest)).toEqual(["Three", "Two"]);
    const { last_id, has_more } = newest.json as { last_id: string; has_more: boolean };
    expect(has_more).toBe(true);
    const rest = await call(`${url}/input_items?after=${last_id}`);
    expect([textOf(rest), rest.json]).toMatchObject([["One"], { has_more: false }]);
    expect(textOf(await call(`${url}/input_items?order=asc`))).toEqual(["One", "Two", "Three"]);
    for (const key of [KEYS.acmeReader, KEYS.acmeCreator])
      expect((await call(`${url}/input_items`, { key })).status).toBe(403);
    expect((await call(`${url}/input_items?after=in_1`)).status).toBe(400);
  });
});

describe("a response that is deleted", () => {
  const erase = (url: string, key: string = KEYS.acmeEraser) => call(url, { method: "DELETE", key });

  test("is left to the audit log, which finds it among deleted conversations", async () => {
    await using platform = await openPlatform();
    const { url, id, ref } = await endedResponse(platform, "One.");
    for (let i = 0; i < 2; i++)
      expect(await erase(url)).toMatchObject({
        status: 202,
        json: { id, object: "response", deleted: true },
      });
    const { publish, budgetMs } = platform.log;
    const rows = new conversations.ConversationRows({
      publish,
      reads: platform.broker.reads,
      budgetMs: () => budgetMs,
    });
    const stored = await Array.fromAsync(rows.list(undefined, STREAM_START));
    expect(stored.map(({ row }) => row)).toMatchObject([
      { kind: "deleted", head: ref.generation, by: expect.any(String) },
    ]);
  });

  test("has to be alone, and to have ended", async () => {
    await using platform = await openPlatform();
    const { url, id } = await beginResponse(platform);
    expect(await erase(url)).toMatchObject({ status: 409, json: { error: { code: "erasure_refused" } } });
    expect((await erase(url, KEYS.acme)).status).toBe(403);
    await call(`${url}/cancel`, { method: "POST" });
    expect((await erase(url)).status).toBe(202);
    const next = await endedResponse(platform, "Two.", { previous_response_id: id });
    expect((await erase(next.url)).json).toMatchObject({ error: { code: "erasure_refused" } });
    const ofSubject = await endedResponse(platform, "Three.", { safety_identifier: "p-1" });
    expect((await erase(ofSubject.url)).json).toMatchObject({ error: { code: "erasure_refused" } });
    expect((await erase(`${platform.node.url}/v1/responses/${ABSENT}`)).status).toBe(404);
  });
});
