import * as conversations from "@reprise/conversations";
import {
  CONVERSATION_LIMITS,
  type ConversationId,
  effectiveRequest,
  type Generation,
  type GenerationId,
  joinPrompt,
  parseGenerationId,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  append,
  call,
  delta,
  type Node,
  openPlatform,
  type Platform,
  started,
} from "../../testing/platform.ts";
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

/* Conversations whose turns wait for each other. */

const key = "rk_set_0123456789abcdef";
const conversationSettings = { on_busy: "queue", when_full: "truncate_oldest" };
const moreTenants = [
  { id: "set", keys: [{ secret: key, roles: ["create"] }], conversations: conversationSettings },
];

let platform: Platform;
let other: Node;
let rows: conversations.ConversationRows;

beforeAll(async () => {
  platform = await openPlatform({ moreTenants });
  other = await platform.addNode();
  const { broker, log } = platform;
  rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
});
afterAll(() => platform[Symbol.asyncDispose]());

const openQueue = () => openConversation(platform, { on_busy: "queue" });
const contextOf = async (generation: GenerationId) => (await requestedOf(platform, generation)).context;
const cancel = (generation: GenerationId) =>
  call(`${platform.node.url}/v1/generations/${generation}/cancel`, { body: {} });
const stateOf = async (generation: GenerationId) =>
  (await call(`${platform.node.url}/v1/generations/${generation}`)).json as Generation;
const itemsOf = async (conversation: ConversationId) => {
  const { json } = await call(`${platform.node.url}/v1/conversations/${conversation}/items`);
  return (json as { data: object[] }).data;
};

describe("a turn that comes while another one continues", () => {
  test("is created, waits, and its prompt in seq 0 is without those that it waits for", async () => {
    const conversation = await openQueue();
    const first = await said(platform, { conversation, input: "One?" }, "1.");
    const second = await turn(platform, { conversation, input: "Two?" });
    const third = await turn(platform, { conversation, input: "Three?" });
    const fourth = await turn({ ...platform, node: other }, { conversation, input: "Four?" });

    const requested = await requestedOf(platform, fourth);
    expect(requested).toMatchObject({
      needs: ["history"],
      request: { input: "Four?" },
      context: { turn: 4, parent: third, waits_for: [second, third], room: { when_full: "error" } },
    });
    expect(requested.prompt?.map(({ generation }) => generation)).toEqual([first]);
    expect(await contextOf(second)).not.toHaveProperty("waits_for");
    expect(await contextOf(third)).toMatchObject({ waits_for: [second] });
    expect(await itemsOf(conversation)).toMatchObject([
      user("One?"),
      assistant("1."),
      { ...user("Two?"), generation: second },
      { ...user("Three?"), generation: third },
      { ...user("Four?"), generation: fourth },
    ]);
  });

  test("is part of the prompt of later ones, as if it had not waited", async () => {
    const conversation = await openQueue();
    const [first, second, third] = [
      await turn(platform, { conversation, input: [{ role: "system", content: "Be brief." }, user("One?")] }),
      await turn(platform, { conversation, input: "Two?" }),
      await turn(platform, { conversation, input: "Three?" }),
    ];
    await say(platform, first, "1.");
    await say(platform, second, "2.");
    // What has ended by now is in its seq 0.
    const fourth = await turn(platform, { conversation, input: "Four?" });
    expect(await contextOf(fourth)).toMatchObject({ waits_for: [third] });
    await say(platform, third, "3.");
    await say(platform, fourth, "4.");
    const fifth = await turn(platform, { conversation, input: "Five?" });
    const { input } = effectiveRequest(await requestedOf(platform, fifth));
    const before = [1, 2, 3, 4].flatMap((n) => [
      user(["One?", "Two?", "Three?", "Four?"][n - 1]!),
      assistant(`${n}.`),
    ]);
    expect(input).toEqual([{ role: "system", content: "Be brief." }, ...before, user("Five?")]);
    expect((await itemsOf(conversation)).length).toBe(10);
  });

  test("is out of the queue and of all prompts once it is cancelled", async () => {
    const conversation = await openQueue();
    const first = await turn(platform, { conversation, input: "One?" });
    const second = await turn(platform, { conversation, input: "Two?" });
    expect((await cancel(second)).status).toBe(200);
    const third = await turn(platform, { conversation, input: "Three?" });
    expect(await contextOf(third)).toMatchObject({ turn: 3, waits_for: [first] });
    await say(platform, first, "1.");
    await say(platform, third, "3.");
    const { prompt = [] } = await requestedOf(platform, await turn(platform, { conversation }));
    expect(joinPrompt(prompt, [])).toEqual([user("One?"), assistant("1."), user("Three?"), assistant("3.")]);
  });

  test("is refused where it forks", async () => {
    const conversation = await openQueue();
    const first = await said(platform, { conversation }, "1.");
    await turn(platform, { conversation });
    const fork = await ask(platform, { conversation, previous_generation: first });
    expect(fork).toMatchObject({ status: 409, json: { error: { code: "conversation_busy" } } });
  });

  test("has its time in the queue once those have ended that it waits for", async () => {
    const conversation = await openQueue();
    const policy = { timeouts: { queue: { after_ms: 300 } } };
    const first = await turn(platform, { conversation });
    const worker = await workerOf(platform, first);
    await append(worker, started(1), delta("He"));
    const waiting = await turn(platform, { conversation, policy });
    const alone = await turn(platform, { policy });
    await expect.poll(() => stateOf(alone)).toMatchObject({ status: "failed" });
    expect(await stateOf(waiting)).toMatchObject({ status: "queued" });
    await cancel(first);
    await expect
      .poll(() => stateOf(waiting))
      .toMatchObject({ status: "failed", error: { code: "queue_timeout" } });
  });
});

test("of creates that race at two nodes as many wait as may, each after the one before it", async () => {
  const conversation = await openQueue();
  const head = await turn(platform, { conversation, input: "0" });
  const { waitingTurns } = CONVERSATION_LIMITS;
  const creates = Array.from({ length: waitingTurns + 2 }, (_, i) =>
    ask({ node: i % 2 === 0 ? platform.node : other }, { conversation, input: `${i + 1}` }),
  );
  const answers = await Promise.all(creates);
  const created = answers.flatMap(({ status, json }) =>
    status === 201 ? [parseGenerationId((json as { id: string }).id)] : [],
  );
  expect(created).toHaveLength(waitingTurns);
  for (const { json } of answers.filter(({ status }) => status !== 201))
    expect(json).toMatchObject({ error: { code: "conversation_busy", retryable: true } });
  const contexts = await Promise.all(
    created.map(async (generation) => ({ generation, ...(await contextOf(generation))! })),
  );
  contexts.sort((a, b) => a.turn - b.turn);
  const order = [head, ...contexts.map(({ generation }) => generation)];
  for (const [i, { turn: n, parent, waits_for }] of contexts.entries()) {
    expect(n).toBe(i + 2);
    expect(parent).toBe(order[i]);
    expect(waits_for).toEqual(order.slice(0, i + 1));
  }
  expect((await rows.find(ACME, conversation)).row).toMatchObject({
    turns: waitingTurns + 1,
    head: { generation: order.at(-1) },
  });
  const more = await ask(platform, { conversation });
  expect(more).toMatchObject({ status: 409, json: { error: { code: "conversation_busy" } } });
  expect(more.text).toContain(`${waitingTurns} turns`);
});

test("what is set for a tenant holds for conversations that do not say otherwise", async () => {
  const at = `${platform.node.url}/v1/conversations`;
  const headers = { "idempotency-key": "set" };
  expect(await call(at, { body: {}, key, headers })).toMatchObject({
    status: 201,
    json: conversationSettings,
  });
  expect(await call(at, { body: {}, key, headers })).toMatchObject({
    status: 200,
    json: conversationSettings,
  });
  const body = { on_busy: "reject", when_full: "error" };
  expect((await call(at, { body, key })).json).toMatchObject(body);
});
