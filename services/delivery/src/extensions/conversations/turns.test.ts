import { hash } from "node:crypto";
import * as conversations from "@reprise/conversations";
import { openJobs } from "@reprise/jobs";
import {
  conversationSubject,
  deriveGenerationId,
  effectiveRequest,
  type EventDraft,
  type GenerationId,
  joinPrompt,
  parseConversationId,
  parseGenerationId,
  slotsSubject,
  unixNow,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  append,
  call,
  completed,
  delta,
  KEYS,
  type Node,
  openPlatform,
  type Platform,
  started,
  toolCall,
} from "../../testing/platform.ts";
import { claimTurn } from "./claim-turn.ts";
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

let platform: Platform;
let other: Node;
let rows: conversations.ConversationRows;

beforeAll(async () => {
  platform = await openPlatform();
  other = await platform.addNode();
  const { broker, log } = platform;
  rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
});
afterAll(() => platform[Symbol.asyncDispose]());

const promptOf = async (generation: GenerationId) => {
  const { prompt = [] } = await requestedOf(platform, generation);
  return joinPrompt(prompt, []);
};

test("a conversation has the room that a worker says its model's context has", async () => {
  await using own = await openPlatform();
  const announce = async (contextTokens: number) => {
    const announced = { worker: "w", slots: 1, running: {}, capabilities: [], contextTokens };
    own.broker.main.publish(slotsSubject("sim"), JSON.stringify(announced));
    const heard = async () => (await call(`${own.node.url}/v1/models`)).json;
    await expect.poll(heard).toMatchObject({ data: [{ id: "sim", context_tokens: contextTokens }] });
  };
  const conversation = await openConversation(own);
  const worker = await workerOf(own, await turn(own, { conversation, input: "One?" }));
  const usage = { input_tokens: 600, output_tokens: 2 };
  await append(worker, started(1), delta("1."), { ...completed(), usage } as EventDraft);
  await announce(300);
  const next = { conversation, input: "Two?" };
  const full = await ask(own, next);
  expect([full.status, full.json]).toMatchObject([400, { error: { code: "conversation_full" } }]);
  await announce(100_000);
  expect((await ask(own, next)).status).toBe(201);
});

describe("the prompt of a turn", () => {
  test("is what was asked and said before it, and its request stays as it was sent", async () => {
    const conversation = await openConversation(platform);
    const system = { role: "system", content: "Be brief." };
    const first = await said(platform, { conversation, input: [system, user("One?")] }, "1.");
    const second = await said(platform, { conversation, input: "Two?" }, "2.");
    const third = await turn(platform, { conversation, input: "Three?" });

    const requested = await requestedOf(platform, third);
    expect(requested.request).toEqual({ model: "sim", input: "Three?", conversation });
    expect(requested.context).toEqual({ conversation, turn: 3, parent: second });
    expect(requested.needs).toEqual(["history"]);
    expect(requested.prompt?.map(({ generation }) => generation)).toEqual([undefined, first, second]);
    expect(effectiveRequest(requested).input).toEqual([
      system,
      user("One?"),
      assistant("1."),
      user("Two?"),
      assistant("2."),
      user("Three?"),
    ]);
    const opened = await requestedOf(platform, first);
    expect(opened).toMatchObject({ context: { conversation, turn: 1 } });
    expect(opened).not.toHaveProperty("prompt");
  });

  test("is without a turn that has failed, and with what one had said that was cancelled", async () => {
    const conversation = await openConversation(platform);
    const instructions = { role: "developer", content: "In German." };
    const failing = await turn(platform, { conversation, input: [instructions, user("One?")] });
    const usage = { input_tokens: null, output_tokens: 1 };
    const error = { code: "engine_failed", message: "It broke off.", retryable: true };
    await append(await workerOf(platform, failing), started(1), delta("Ei"), {
      type: "generation.failed",
      error,
      usage,
    });
    const cancelled = await turn(platform, { conversation, input: "Zwei?" });
    await append(await workerOf(platform, cancelled), started(1), delta("Zw"));
    expect((await call(`${platform.node.url}/v1/generations/${cancelled}/cancel`, { body: {} })).status).toBe(
      200,
    );

    const next = await turn(platform, { conversation, input: "Drei?" });
    expect(await promptOf(next)).toEqual([instructions, user("Zwei?"), assistant("Zw")]);
  });

  test("has calls of tools with their answers, also answers that the new turn brings", async () => {
    const conversation = await openConversation(platform);
    const tools = [{ name: "look_up" }];
    const waiting = await turn(platform, { conversation, tools, input: "What is a log?" });
    const worker = await workerOf(platform, waiting);
    await append(worker, started(1), toolCall("c1"), { type: "tool.result", call_id: "c1", output: "wood" });
    await append(worker, delta("Wood."), completed());
    const ending = await turn(platform, { conversation, tools, tool_calls: "end", input: "And a tree?" });
    await append(await workerOf(platform, ending), started(1), toolCall("c2"), toolCall("c3"), {
      type: "generation.completed",
      finish_reason: "tool_calls",
      usage: { input_tokens: 1, output_tokens: 1 },
    });

    const answer = { role: "tool", call_id: "c2", output: { kind: "plant" } };
    const next = await said(platform, { conversation, tools, input: [answer] }, "A plant.");
    const calls = (id: string) => ({
      role: "assistant",
      tool_calls: [{ call_id: id, name: "look_up", arguments: '{"word":"log"}' }],
    });
    const before = [
      user("What is a log?"),
      calls("c1"),
      { role: "tool", call_id: "c1", output: "wood" },
      assistant("Wood."),
      user("And a tree?"),
    ];
    const requested = await requestedOf(platform, next);
    expect(effectiveRequest(requested).input).toEqual([...before, calls("c2"), answer]);
    // The call that was not answered then is left out for ever.
    const last = await turn(platform, { conversation, tools, input: "Thanks." });
    expect(await promptOf(last)).toEqual([...before, calls("c2"), answer, assistant("A plant.")]);
  });

  test("is that of the turn which a fork names", async () => {
    const conversation = await openConversation(platform);
    const first = await said(platform, { conversation, input: "One?" }, "1.");
    await said(platform, { conversation, input: "Two?" }, "2.");
    const fork = await said(platform, { conversation, previous_generation: first, input: "Zwei?" }, "2!");
    expect(await promptOf(fork)).toEqual([user("One?"), assistant("1.")]);
    const next = await turn(platform, { conversation, input: "Three?" });
    expect(await promptOf(next)).toEqual([user("One?"), assistant("1."), user("Zwei?"), assistant("2!")]);
  });
});

describe("a turn is refused", () => {
  test("while the last one has not ended", async () => {
    const conversation = await openConversation(platform);
    const first = await turn(platform, { conversation });
    const queued = await ask({ node: other }, { conversation });
    expect(queued).toMatchObject({
      status: 409,
      json: { error: { code: "conversation_busy", retryable: true } },
    });
    expect(queued.headers.get("retry-after")).toBe("1");
    await append(await workerOf(platform, first), started(1), delta("He"));
    expect((await ask(platform, { conversation })).status).toBe(409);
  });

  test.each([
    [
      "a conversation that is not there",
      { conversation: "conv_00000000000000000000000000" },
      404,
      "conversation_not_found",
    ],
    ["what is no id of one", { conversation: "conv_1" }, 400, "invalid_request"],
    [
      "a fork without its conversation",
      { previous_generation: `gen_0_${"0".repeat(26)}` },
      400,
      "invalid_request",
    ],
  ])("for %s", async (_, body, status, code) => {
    expect(await ask(platform, body)).toMatchObject({ status, json: { error: { code } } });
  });

  test("for a fork from a turn of another conversation, and from none", async () => {
    const [mine, others] = [await openConversation(platform), await openConversation(platform)];
    await said(platform, { conversation: mine }, "1");
    const foreign = await said(platform, { conversation: others }, "2");
    const alone = await said(platform, {}, "3");
    for (const previous of [foreign, alone]) {
      const answer = await ask(platform, { conversation: mine, previous_generation: previous });
      expect(answer).toMatchObject({
        status: 404,
        json: { error: { code: "generation_not_found", param: "previous_generation" } },
      });
    }
  });

  test("for another tenant that has the id", async () => {
    const conversation = await openConversation(platform);
    const answer = await ask(platform, { conversation }, { key: KEYS.beta });
    expect(answer).toMatchObject({ status: 404, json: { error: { code: "conversation_not_found" } } });
  });

  test("for a tool's answer whose call no turn has made", async () => {
    const conversation = await openConversation(platform);
    await said(platform, { conversation }, "1");
    const input = [user("x"), { role: "tool", call_id: "c9", output: 1 }];
    expect(await ask(platform, { conversation, input })).toMatchObject({
      status: 400,
      json: { error: { code: "invalid_request", param: "input.1.call_id" } },
    });
    expect((await rows.find(ACME, conversation)).row.turns).toBe(1);
  });
});

test("of creates that race at two nodes one is the next turn, and the others are told so", async () => {
  const conversation = await openConversation(platform);
  for (let n = 1; n <= 5; n++) {
    const creates = Array.from({ length: 20 }, (_, i) =>
      ask({ node: i % 2 === 0 ? platform.node : other }, { conversation, input: `${n}.${i}` }),
    );
    const answers = await Promise.all(creates);
    const created = answers.filter(({ status }) => status === 201);
    expect(created).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(19);
    const generation = parseGenerationId((created[0]!.json as { id: string }).id);
    const { row } = await rows.find(ACME, conversation);
    expect(row).toMatchObject({ turns: n, head: { generation } });
    expect((await requestedOf(platform, generation)).context?.turn).toBe(n);
    await say(platform, generation, `${n}`);
  }
  const jobs = await Array.fromAsync(openJobs.readAllJobs(platform.broker.reads), ({ payload }) =>
    Buffer.from(payload).includes(conversation),
  );
  expect(jobs.filter(Boolean)).toHaveLength(5);
});

describe("a claim whose generation never came", () => {
  const claim = async (claimedAtMs: number, generation: GenerationId) => {
    const conversation = await openConversation(platform);
    const first = await said(platform, { conversation, input: "One?" }, "1.");
    const { row, at } = await rows.find(ACME, conversation);
    const head = { generation, parent: first, claimed_at: new Date(claimedAtMs).toISOString() };
    await rows.write(conversationSubject(ACME, conversation), { ...row, turns: 2, head }, at);
    return conversation;
  };

  test("holds the conversation while its create may continue, and is passed over then", async () => {
    const lost = parseGenerationId(`gen_0_${"1".repeat(26)}`);
    const fresh = await claim(unixNow(), lost);
    expect((await ask(platform, { conversation: fresh })).status).toBe(409);

    const old = await claim(unixNow() - 61_000, lost);
    const second = await turn(platform, { conversation: old, input: "Two?" });
    expect((await requestedOf(platform, second)).context?.turn).toBe(2);
    expect(await promptOf(second)).toEqual([user("One?"), assistant("1.")]);
  });

  test("is not gone on with once another create has passed it over", async () => {
    const lost = parseGenerationId(`gen_0_${"2".repeat(26)}`);
    const next = parseGenerationId(`gen_0_${"3".repeat(26)}`);
    const conversation = await claim(unixNow() - 61_000, lost);
    const { row, at } = await rows.find(ACME, conversation);
    const place = { row, at, parent: row.head!.parent, before: undefined, turn: 2 };
    await claimTurn(rows, { tenant: ACME, generation: next }, place);
    await expect(claimTurn(rows, { tenant: ACME, generation: lost }, place)).rejects.toMatchObject({
      code: "conversation_busy",
    });
    await claimTurn(rows, { tenant: ACME, generation: next }, place);
  });

  test("is gone on with by a create with the same key", async () => {
    const key = "died-between";
    const sha256 = (text: string) => hash("sha256", text, "buffer");
    const conversation = await claim(unixNow(), deriveGenerationId(ACME, key, 2, sha256));
    const asked = { headers: { "idempotency-key": key } };
    const second = await turn(platform, { conversation, input: "Two?" }, asked);
    expect((await requestedOf(platform, second)).context?.turn).toBe(2);
    expect(await promptOf(second)).toEqual([user("One?"), assistant("1.")]);
    expect((await rows.find(ACME, conversation)).row).toMatchObject({
      turns: 2,
      head: { generation: second },
    });
  });
});

test("a create that is repeated with its key joins its turn", async () => {
  const conversation = await openConversation(platform);
  const asked = { headers: { "idempotency-key": "turn-1" } };
  const first = await turn(platform, { conversation }, asked);
  const again = await ask({ node: other }, { conversation }, asked);
  expect(again).toMatchObject({ status: 200, json: { id: first } });
  await say(platform, first, "1");
  const second = await turn(platform, { conversation });
  const late = await ask({ node: other }, { conversation }, asked);
  expect(late).toMatchObject({ status: 200, json: { id: first } });
  expect((await rows.find(ACME, conversation)).row.head?.generation).toBe(second);
});

test.each([["over"], ["deleted"]])(
  "a create that is repeated joins its turn, though its conversation is %s meanwhile",
  async (how) => {
    const conversation = await openConversation(platform, { subject: "s-1", end_user: "ann" });
    const asked = { headers: { "idempotency-key": `after-${how}` } };
    const first = await turn(platform, { conversation }, asked);
    const { row, at } = await rows.find(ACME, conversation);
    const time = new Date(unixNow() - 1).toISOString();
    const after = {
      over: { ...row, expires_at: time },
      deleted: { version: 1, kind: "deleted", id: row.id, by: "era", deleted_at: time, head: first } as const,
    }[how]!;
    await rows.write(conversationSubject(ACME, conversation), after, at);

    const missing = { status: 404, json: { error: { code: "conversation_not_found" } } };
    expect(await ask(platform, { conversation })).toMatchObject(missing);
    expect(await ask(platform, { conversation }, asked)).toMatchObject({ status: 200, json: { id: first } });
    const named = { conversation, subject: "s-1", end_user: "ann" };
    expect(await ask(platform, named, asked)).toMatchObject({ status: 200, json: { id: first } });
    for (const more of [{ subject: "s-2" }, { input: "bye" }])
      expect(await ask(platform, { conversation, ...more }, asked)).toMatchObject({
        status: 409,
        json: { error: { code: "idempotency_conflict" } },
      });
  },
);

test("a turn is its conversation's subject's and end user's, and the request can't say otherwise", async () => {
  const owner = { subject: "s-1", end_user: "ann" };
  const conversation = await openConversation(platform, owner);
  const first = await said(platform, { conversation }, "1");
  expect((await requestedOf(platform, first)).request).toMatchObject(owner);
  for (const [name, value] of Object.entries({ subject: "s-2", end_user: "bob" })) {
    const answer = await ask(platform, { conversation, [name]: value });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: "invalid_request", param: name } } });
  }
  const unowned = await openConversation(platform);
  expect((await ask(platform, { conversation: unowned, subject: "s-1" })).status).toBe(400);
});

test("an end user's token continues with that user's conversations and no others", async () => {
  const tokenOf = async (endUser: string) => {
    const body = { scopes: ["create", "read"], end_user: endUser };
    const { json } = await call(`${platform.node.url}/v1/tokens`, { body });
    return (json as { token: string }).token;
  };
  const conversation = await openConversation(platform, { end_user: "ann" });
  expect((await ask(platform, { conversation }, { key: await tokenOf("bob") })).status).toBe(404);
  expect((await ask(platform, { conversation }, { key: await tokenOf("ann") })).status).toBe(201);
  const nobodys = parseConversationId(await openConversation(platform));
  expect((await ask(platform, { conversation: nobodys }, { key: await tokenOf("ann") })).status).toBe(404);
});
