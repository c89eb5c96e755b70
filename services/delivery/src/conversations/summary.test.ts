import { conversations } from "@reprise/log";
import {
  type EventDraft,
  type GenerationId,
  joinPrompt,
  parseGenerationId,
  parseTenantId,
  type ServedBy,
  SIM_CAPABILITIES,
} from "@reprise/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toRequested } from "../domain/to-requested.ts";
import {
  append,
  call,
  delta,
  KEYS,
  type Node,
  openPlatform,
  type Platform,
  started,
} from "../testing/platform.ts";
import {
  ACME,
  ask,
  assistant,
  openConversation,
  requestedOf,
  turn,
  user,
  workerOf,
} from "./conversations.fixture.ts";

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

/** With two turns, behind which there is no room for a third. */
async function openFull(body: object = {}) {
  const conversation = await openConversation(platform, { when_full, ...body });
  const input = [{ role: "system", content: "Be brief." }, user("One?")];
  const turns = [await said({ conversation, input }, LONG)];
  for (const one of ["Two?", "Three?"]) turns.push(await said({ conversation, input: one }, LONG));
  return { conversation, turns };
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
  test("waits for a generation of the same owners that sums up what it is without", async () => {
    const { conversation, turns } = await openFull({ subject: "s", end_user: "ann" });
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const { summary, ...context } = await contextOf(fourth);
    expect(context).toEqual({ conversation, turn: 4, parent: turns[2], dropped_turns: 2 });
    expect(summary).toMatchObject({ turns: 2 });
    expect(await idsOf(fourth)).toEqual([undefined, turns[2]]);
    const made = await requestedOf(platform, summary!.generation);
    expect(made).toMatchObject({
      request: { model: "small", conversation, subject: "s", end_user: "ann" },
      context: { conversation, turn: 4, summarizes: 2 },
    });
    expect(made.prompt?.map(({ generation }) => generation)).toEqual(turns.slice(0, 2));
  });

  test("has it in the prompts of all later ones, at the same place, until they do not fit either", async () => {
    const { conversation, turns } = await openFull();
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const { generation: first } = (await contextOf(fourth)).summary!;
    await say(first, "In short.");
    await say(fourth, "4.");
    const fifth = await said({ conversation, input: "Five?" }, LONG);
    expect(await contextOf(fifth)).toEqual({ conversation, turn: 5, parent: fourth });
    expect(await idsOf(fifth)).toEqual([undefined, first, turns[2], fourth]);
    const prompt = await promptOf(fifth);
    expect(prompt.slice(0, 1)).toEqual([{ role: "system", content: "Be brief." }]);
    expect(prompt[2]).toEqual(assistant("In short."));
    expect(await itemsOf(conversation)).not.toContainEqual(expect.objectContaining({ generation: first }));

    const sixth = await said({ conversation, input: "Six?" }, LONG);
    expect((await promptOf(sixth)).slice(0, prompt.length)).toEqual(prompt);
    const seventh = await turn(platform, { conversation, input: "Seven?" });
    const { summary } = await contextOf(seventh);
    const again = await idsOf(summary!.generation);
    expect(again.slice(0, 2)).toEqual([first, turns[2]]);
    await say(summary!.generation, "In shorter.");
    await say(seventh, "7.");
    const eighth = await turn(platform, { conversation, input: "Eight?" });
    expect((await idsOf(eighth)).slice(0, 2)).toEqual([undefined, summary!.generation]);
    expect(await contextOf(eighth)).not.toHaveProperty("dropped_turns");
    const all = [...turns, fourth, fifth, sixth, seventh, eighth];
    expect(await turnsOf(conversation)).toEqual([null, ...all]);
    expect(await turnsOf(conversation, "?order=desc&limit=3")).toEqual([eighth, seventh]);
  });

  test("and whose summary fails is without those turns, and later ones say so", async () => {
    const { conversation, turns } = await openFull();
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const { generation } = (await contextOf(fourth)).summary!;
    const error = { code: "engine_failed", message: "It broke off.", retryable: true } as const;
    await say(generation, "In", { type: "generation.failed", error, usage: done.usage });
    await say(fourth, "4.");
    const fifth = await turn(platform, { conversation, input: "Five?" });
    expect(await idsOf(fifth)).toEqual([undefined, turns[2], fourth]);
    expect(await contextOf(fifth)).toMatchObject({ dropped_turns: 2 });
    expect(await turnsOf(conversation)).toEqual([null, ...turns, fourth, fifth]);
  });

  test("waits in a queue for the summary of the one before it", async () => {
    const { conversation } = await openFull({ on_busy: "queue" });
    const fourth = await turn(platform, { conversation, input: "Four?" });
    const fifth = await turn({ ...platform, node: other }, { conversation, input: "Five?" });
    const { summary } = await contextOf(fourth);
    expect(await contextOf(fifth)).toMatchObject({ summary, waits_for: [fourth], dropped_turns: 2 });
    await say(summary!.generation, "In short.");
    await say(fourth, "4.");
    await say(fifth, "5.");
    const sixth = await turn(platform, { conversation, input: "Six?" });
    expect((await idsOf(sixth)).slice(1)).toEqual([summary!.generation, expect.anything(), fourth, fifth]);
  });
});

test("a conversation that is deleted names the summary of its last turn, which may be on its way", async () => {
  const { conversation } = await openFull();
  const fourth = await turn(platform, { conversation, input: "Four?" });
  const { summary } = await contextOf(fourth);
  const at = `${platform.node.url}/v1/conversations/${conversation}`;
  expect((await call(at, { method: "DELETE", key: KEYS.acmeEraser })).status).toBe(202);
  expect((await openRows().read(ACME, conversation)).row).toMatchObject({
    kind: "deleted",
    head: fourth,
    summary: summary!.generation,
  });
});

test("of turns that race at two nodes each has the same summary", async () => {
  const { conversation } = await openFull({ on_busy: "queue" });
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) =>
      ask({ node: i % 2 === 0 ? platform.node : other }, { conversation, input: `${i}` }),
    ),
  );
  const ids = answers.map(({ json }) => parseGenerationId((json as { id: string }).id));
  const named = await Promise.all(ids.map(async (id) => (await contextOf(id)).summary?.generation));
  expect(new Set(named).size).toBe(1);
  expect(named[0]).toBeDefined();
  expect((await openRows().find(ACME, conversation)).row).toMatchObject({
    turns: 9,
    head: { summary: named[0] },
  });
});

test("two nodes that create one turn at once make one summary", async () => {
  const { conversation } = await openFull();
  const headers = { "idempotency-key": "at-two-nodes" };
  const answers = await Promise.all(
    [platform.node, other].map((node) => ask({ node }, { conversation, input: "Four?" }, { headers })),
  );
  const [id, ...same] = answers.map(({ json }) => parseGenerationId((json as { id: string }).id));
  expect(same).toEqual([id]);
  const { summary } = await contextOf(id!);
  expect(await requestedOf(platform, summary!.generation)).toMatchObject({ context: { summarizes: 2 } });
});

test("a summary is no turn: nothing goes on behind it", async () => {
  const { conversation } = await openFull();
  const fourth = await turn(platform, { conversation, input: "Four?" });
  const { generation } = (await contextOf(fourth)).summary!;
  await say(generation, "In short.");
  await say(fourth, "4.");
  const fork = await ask(platform, { conversation, previous_generation: generation });
  expect(fork).toMatchObject({ status: 404, json: { error: { code: "generation_not_found" } } });
});

/** The context of a first turn whose conversation was created with more than fits. */
async function contextOfImported(own: Platform, id: string) {
  const at = { method: "POST", key: key(id) };
  const body = { when_full, items: many() };
  const created = await call(`${own.node.url}/v1/conversations`, { ...at, body });
  const { id: conversation } = created.json as { id: string };
  const asked = { model: "sim", input: "Now?", conversation };
  const { status, json } = await call(`${own.node.url}/v1/generations`, { ...at, body: asked });
  expect(status).toBe(201);
  const ref = { tenant: parseTenantId(id), generation: parseGenerationId((json as { id: string }).id) };
  return toRequested((await own.log.reader.readFirst(ref))?.payload).context!;
}

test.each([
  ["a limit", { limits: { tenant: { generations: 1 } } }],
  ["a budget", { budgets: [{ name: "all", unit: "tokens", limit: 4_000, period: "total" }] }],
])("where a summary is refused by %s, the turns are left out", async (_, more) => {
  await using own = await openPlatform({ ...options, moreTenants: [tenant("bound", more)] });
  const context = await contextOfImported(own, "bound");
  expect(context).toMatchObject({ turn: 1, dropped_turns: 2 });
  expect(context).not.toHaveProperty("summary");
});

test("a summary has its tenant's policy, but for what is about readers: it has none", async () => {
  const policy = { max_attempts: 2, on_disconnect: { cancel_after: 1 }, pace: { max_lead_tokens: 1 } };
  await using own = await openPlatform({ ...options, moreTenants: [tenant("strict", { policy })] });
  const { summary } = await contextOfImported(own, "strict");
  const ref = { tenant: parseTenantId("strict"), generation: summary!.generation };
  const { policy: effective } = toRequested((await own.log.reader.readFirst(ref))?.payload);
  expect(effective).toMatchObject({ max_attempts: 2, on_disconnect: "keep" });
  expect(effective).not.toHaveProperty("pace");
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
