import * as conversations from "@reprise/conversations";
import {
  type ConversationId,
  conversationSubject,
  type EventDraft,
  type GenerationId,
  joinPrompt,
  parseGenerationId,
  parseTenantId,
  type ServedBy,
  SIM_CAPABILITIES,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toRequested } from "../../domain/to-requested.ts";
import {
  append,
  call,
  delta,
  KEYS,
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
  turn,
  user,
  workerOf,
} from "../../testing/conversations.ts";

/* Conversations whose turns are summed up where they do not fit. */

const SERVED = { engine: "sim", capabilities: SIM_CAPABILITIES } as const;
const models = new Set(["sim", "small"]);
const options = {
  models,
  served: new Map<string, ServedBy>([
    ["sim", { ...SERVED, contextTokens: 6_000 }],
    ["small", SERVED],
  ]),
};
const when_full = { policy: "summarize", model: "small" };
/** A summary is made after its turn is answered. */
const WAIT = { timeout: 120_000 };
const LONG = "x".repeat(6_000);
const key = (tenant: string) => `rk_${tenant}_0123456789abcdef`;
const tenant = (id: string, more: object) => ({
  id,
  keys: [{ secret: key(id), roles: ["create", "read"] }],
  ...more,
});
const moreTenants = [
  tenant("setting", { conversations: { when_full } }),
  tenant("lacking", { conversations: { when_full: { policy: "summarize", model: "gone" } } }),
  tenant("allowed", { models: ["sim"] }),
];

let platform: Platform;
let other: Node;
beforeAll(async () => {
  platform = await openPlatform({ ...options, moreTenants });
  other = await platform.addNode({ ...options, moreTenants });
});
afterAll(() => platform[Symbol.asyncDispose]());

const done: EventDraft = {
  type: "generation.completed",
  finish_reason: "stop",
  usage: { input_tokens: null, output_tokens: 1 },
};

/** Has a generation say something and end; what it takes no engine has counted. */
async function say(generation: GenerationId, text: string, end: EventDraft = done): Promise<void> {
  await append(await workerOf(platform, generation), started(1), delta(text), end);
}

async function said(body: object, text: string): Promise<GenerationId> {
  const generation = await turn(platform, body);
  await say(generation, text);
  return generation;
}

/** Three turns that leave no room for a fourth one; the first is more than half of the room. */
async function openFull(body: object = {}) {
  const conversation = await openConversation(platform, { when_full, ...body });
  const input = [{ role: "system", content: "Be brief." }, user("One?")];
  const turns = [await said({ conversation, input }, LONG)];
  for (const one of ["Two?", "Three?"]) turns.push(await said({ conversation, input: one }, LONG));
  return { conversation, turns };
}

/** Waits until the conversation has a summary that was made with a turn, and returns it. */
async function summaryMadeWith(conversation: string, made: GenerationId): Promise<GenerationId> {
  const find = async () => (await openRows().find(ACME, conversation as ConversationId)).row.summary;
  await expect.poll(async () => (await find())?.turn, WAIT).toBe(made);
  const { generation } = (await find())!;
  const first = () => platform.log.reader.readFirst({ tenant: ACME, generation });
  await expect.poll(first, WAIT).toBeDefined();
  return generation;
}

/** The same with the summary of the first turn, which the third has made. */
async function openSummarized(body: object = {}) {
  const opened = await openFull(body);
  return { ...opened, summary: await summaryMadeWith(opened.conversation, opened.turns[2]!) };
}

const contextOf = async (generation: GenerationId) => (await requestedOf(platform, generation)).context!;
const promptOf = async (generation: GenerationId) =>
  joinPrompt((await requestedOf(platform, generation)).prompt ?? [], []);
const idsOf = async (generation: GenerationId) =>
  ((await requestedOf(platform, generation)).prompt ?? []).map((segment) => segment.generation);
const itemsOf = async (conversation: string, query = "?limit=100") => {
  const { json } = await call(`${platform.node.url}/v1/conversations/${conversation}/items${query}`);
  return (json as { data: { generation: string | null }[] }).data;
};
const turnsOf = async (conversation: string, query?: string) => [
  ...new Set((await itemsOf(conversation, query)).map(({ generation }) => generation)),
];

function openRows() {
  const { broker, log } = platform;
  return new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
}

describe("a turn that does not fit", () => {
  test("waits for the summary of the oldest turns, which an earlier turn has made, by the same owners", async () => {
    const { conversation, turns, summary: made } = await openSummarized({ subject: "s", end_user: "ann" });
    expect(await requestedOf(platform, made)).toMatchObject({
      request: { model: "small", conversation, subject: "s", end_user: "ann" },
      context: { conversation, turn: 3, summarizes: 1 },
    });
    expect(await idsOf(made)).toEqual(turns.slice(0, 1));
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const { summary, ...context } = await contextOf(fourth);
    expect(context).toEqual({ conversation, turn: 4, parent: turns[2], dropped_turns: 1 });
    expect(summary).toMatchObject({ generation: made, turns: 1 });
    expect(await idsOf(fourth)).toEqual([undefined, ...turns.slice(1)]);
  });

  test("has it in the prompts of all later ones, at the same place, until they do not fit either", async () => {
    const { conversation, turns, summary: first } = await openSummarized();
    await say(first, "In short.");
    const fourth = await said({ conversation, input: "Four?" }, "4.");
    const fifth = await said({ conversation, input: "Five?" }, LONG);
    expect(await contextOf(fifth)).toEqual({ conversation, turn: 5, parent: fourth });
    expect(await idsOf(fifth)).toEqual([undefined, first, turns[1], turns[2], fourth]);
    const prompt = await promptOf(fifth);
    expect(prompt.slice(0, 1)).toEqual([{ role: "system", content: "Be brief." }]);
    expect(prompt[2]).toEqual(assistant("In short."));
    expect(await itemsOf(conversation)).not.toContainEqual(expect.objectContaining({ generation: first }));

    const second = await summaryMadeWith(conversation, fifth);
    expect(await idsOf(second)).toEqual([first, turns[1]]);
    await say(second, "In shorter.");
    const sixth = await said({ conversation, input: "Six?" }, "6.");
    const seventh = await turn(platform, { conversation, input: "Seven?" });
    expect(await idsOf(seventh)).toEqual([undefined, second, turns[2], fourth, fifth, sixth]);
    expect(await contextOf(seventh)).not.toHaveProperty("dropped_turns");
    const all = [...turns, fourth, fifth, sixth, seventh];
    expect(await turnsOf(conversation)).toEqual([null, ...all]);
    expect(await turnsOf(conversation, "?order=desc&limit=2")).toEqual([seventh, sixth]);
  });

  test("is without those turns if the summary fails, and later ones say so", async () => {
    const { conversation, turns, summary: generation } = await openSummarized();
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const error = { code: "engine_failed", message: "It broke off.", retryable: true } as const;
    await say(generation, "In", { type: "generation.failed", error, usage: done.usage });
    await say(fourth, "4.");
    const fifth = await turn(platform, { conversation, input: "Five?" });
    expect(await idsOf(fifth)).toEqual([undefined, ...turns.slice(1), fourth]);
    expect(await contextOf(fifth)).toMatchObject({ dropped_turns: 1 });
    expect(await turnsOf(conversation)).toEqual([null, ...turns, fourth, fifth]);
  });

  test("has another summary after one that has failed", async () => {
    const { conversation, turns, summary: failed } = await openSummarized();
    const error = { code: "engine_failed", message: "It broke off.", retryable: true } as const;
    await say(failed, "In", { type: "generation.failed", error, usage: done.usage });
    const fork = { conversation, previous_generation: turns[1], input: "Again?" };
    const third = await said(fork, LONG);
    const another = await summaryMadeWith(conversation, third);
    expect(another).not.toBe(failed);
    const fourth = await turn(platform, { conversation, input: "Four?" });
    expect((await contextOf(fourth)).summary).toMatchObject({ generation: another, turns: 1 });
  });

  test("has no summary that is more than a quarter of its room", async () => {
    const { conversation } = await openSummarized();
    const fourth = await turn(platform, { conversation, input: "Four?", max_output_tokens: 4_000 });
    expect(await contextOf(fourth)).not.toHaveProperty("summary");
    expect(await contextOf(fourth)).toMatchObject({ dropped_turns: 3 });
  });

  test("has the summary of what it continues after a fork, too", async () => {
    const { conversation, turns, summary } = await openSummarized();
    const forked = await said({ conversation, previous_generation: turns[1], input: "Other?" }, LONG);
    const next = await turn(platform, { conversation, input: "Next?" });
    expect((await contextOf(next)).summary).toMatchObject({ generation: summary, turns: 1 });
    expect(await idsOf(next)).toEqual([undefined, turns[1], forked]);
  });

  test("has no summary of turns that it does not continue", async () => {
    const { conversation, turns } = await openSummarized();
    const { row } = await openRows().find(ACME, conversation);
    expect(row.summary).toMatchObject({ turn: turns[2], through: turns[0] });
    const another = await openFull();
    const named = {
      ...row,
      summary: { ...row.summary!, turn: another.turns[2]!, through: another.turns[0]! },
    };
    const { at } = await openRows().read(ACME, conversation);
    await openRows().write(conversationSubject(ACME, conversation), named, at);
    const fourth = await turn(platform, { conversation, input: "Four?" });
    expect(await contextOf(fourth)).not.toHaveProperty("summary");
    expect(await contextOf(fourth)).toMatchObject({ dropped_turns: 2 });
  });

  test("waits in a queue for the summary of the one before it", async () => {
    const { conversation, summary } = await openSummarized({ on_busy: "queue" });
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const fifth = await turn({ ...platform, node: other }, { conversation, input: "Five?" });
    const { summary: named } = await contextOf(fourth);
    expect(named).toMatchObject({ generation: summary });
    expect(await contextOf(fifth)).toMatchObject({ summary: named, waits_for: [fourth], dropped_turns: 1 });
    await say(summary, "In short.");
    await say(fourth, "4.");
    await say(fifth, "5.");
    const sixth = await turn(platform, { conversation, input: "Six?" });
    expect((await idsOf(sixth)).slice(1)).toEqual([
      summary,
      expect.anything(),
      expect.anything(),
      fourth,
      fifth,
    ]);
  });
});

test("a conversation that is deleted names its last summary, which may be on its way", async () => {
  const { conversation, turns, summary } = await openSummarized();
  const at = `${platform.node.url}/v1/conversations/${conversation}`;
  expect((await call(at, { method: "DELETE", key: KEYS.acmeEraser })).status).toBe(202);
  expect((await openRows().read(ACME, conversation)).row).toMatchObject({
    kind: "deleted",
    head: turns[2],
    summary,
  });
});

test("turns that race at two nodes all have the same summary", async () => {
  const { conversation, summary } = await openSummarized({ on_busy: "queue" });
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      ask({ node: i % 2 === 0 ? platform.node : other }, { conversation, input: `${i}` }),
    ),
  );
  const ids = answers.map(({ json }) => parseGenerationId((json as { id: string }).id));
  const named = await Promise.all(ids.map(async (id) => (await contextOf(id)).summary?.generation));
  expect(new Set(named)).toEqual(new Set([summary]));
  expect((await openRows().find(ACME, conversation)).row).toMatchObject({ turns: 9 });
});

test("two nodes that create one turn at once make one summary", async () => {
  const conversation = await openConversation(platform, { when_full });
  for (const one of ["One?", "Two?"]) await said({ conversation, input: one }, LONG);
  const headers = { "idempotency-key": "at-two-nodes" };
  const answers = await Promise.all(
    [platform.node, other].map((node) => ask({ node }, { conversation, input: "Three?" }, { headers })),
  );
  const [id, ...same] = answers.map(({ json }) => parseGenerationId((json as { id: string }).id));
  expect(same).toEqual([id]);
  const summary = await summaryMadeWith(conversation, id!);
  expect(await requestedOf(platform, summary)).toMatchObject({ context: { summarizes: 1 } });
});

test("a summary is no turn: none continues it", async () => {
  const { conversation, summary: generation } = await openSummarized();
  await say(generation, "In short.");
  const fork = await ask(platform, { conversation, previous_generation: generation });
  expect(fork).toMatchObject({ status: 404, json: { error: { code: "generation_not_found" } } });
});

/** Creates the first turn of a conversation that was created with more than fits, and returns it. */
async function turnOfImported(own: Platform, id: string) {
  const at = { method: "POST", key: key(id) };
  const body = { when_full, items: many() };
  const created = await call(`${own.node.url}/v1/conversations`, { ...at, body });
  const { id: conversation } = created.json as { id: ConversationId };
  const asked = { model: "sim", input: "Now?", conversation };
  const { status, json } = await call(`${own.node.url}/v1/generations`, { ...at, body: asked });
  expect(status).toBe(201);
  const owner = parseTenantId(id);
  const ref = { tenant: owner, generation: parseGenerationId((json as { id: string }).id) };
  const { log, broker } = own;
  const requestedOfRef = async ({ generation }: { generation: GenerationId }) =>
    toRequested((await log.reader.readFirst({ tenant: owner, generation }))?.payload);
  const rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => 20_000,
  });
  const row = async () => (await rows.find(owner, conversation)).row;
  return { context: (await requestedOfRef(ref)).context!, row, requestedOf: requestedOfRef };
}

test.each([
  ["a limit", { limits: { tenant: { generations: 1 } } }],
  ["a budget", { budgets: [{ name: "all", unit: "tokens", limit: 4_000, period: "total" }] }],
])("a conversation whose summary is refused by %s has none", async (_, more) => {
  await using own = await openPlatform({ ...options, moreTenants: [tenant("bound", more)] });
  const { context, row, requestedOf: read } = await turnOfImported(own, "bound");
  expect(context).toMatchObject({ turn: 1, dropped_turns: 2 });
  expect(context).not.toHaveProperty("summary");
  await expect.poll(() => own.node.logged, WAIT).toContain("a conversation has no summary");
  // An erasure finds it, should it be created after all.
  const { summary } = await row();
  await expect(read({ generation: summary!.generation })).rejects.toThrow();
});

test("a summary has its tenant's policy without what is about readers: it has none", async () => {
  const policy = { max_attempts: 2, on_disconnect: { cancel_after: 1 }, pace: { max_lead_tokens: 1 } };
  await using own = await openPlatform({ ...options, moreTenants: [tenant("strict", { policy })] });
  const { row, requestedOf: read } = await turnOfImported(own, "strict");
  await expect.poll(async () => (await row()).summary, WAIT).toBeDefined();
  const { summary } = await row();
  const first = async () => (await read(summary!).catch(() => undefined))?.policy;
  await expect.poll(first, WAIT).toMatchObject({ max_attempts: 2, on_disconnect: "keep" });
  expect(await first()).not.toHaveProperty("pace");
});

const many = () => Array.from({ length: 3 }, () => [user("?"), assistant(LONG)]).flat();

test("a conversation is refused whose model for summaries is not there, or not the tenant's", async () => {
  const at = `${platform.node.url}/v1/conversations`;
  const refusalOf = async (body: object, secret?: string) => {
    const { status, json } = await call(at, { body, ...(secret && { key: secret }) });
    const { code, param } = (json as { error: { code: string; param: string } }).error;
    return [status, code, param];
  };
  const unknown = { when_full: { policy: "summarize", model: "gone" } };
  expect(await refusalOf(unknown)).toEqual([404, "model_not_found", "when_full.model"]);
  expect(await refusalOf({}, key("lacking"))).toEqual([404, "model_not_found", "when_full.model"]);
  expect(await refusalOf({ when_full }, key("allowed"))).toEqual([
    403,
    "model_not_allowed",
    "when_full.model",
  ]);
  expect(await refusalOf({ when_full: { policy: "summarize" } })).toEqual([
    400,
    "invalid_request",
    "when_full.model",
  ]);
  expect(await call(at, { body: {}, key: key("setting") })).toMatchObject({
    status: 201,
    json: { when_full },
  });
});
