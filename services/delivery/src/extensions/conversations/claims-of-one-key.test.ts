import * as conversations from "@reprise/conversations";
import {
  type ConversationId,
  conversationSubject,
  type GenerationId,
  parseGenerationId,
} from "@reprise/protocol";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call, type Node, openPlatform, type Platform } from "../../testing/platform.ts";
import { ACME, ask, openConversation, requestedOf, said, say } from "../../testing/conversations.ts";

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

const stateOf = async (id: ConversationId) => {
  const { url } = platform.node;
  const [conversation, items] = await Promise.all([
    call(`${url}/v1/conversations/${id}`),
    call(`${url}/v1/conversations/${id}/items`),
  ]);
  const { turns, head } = conversation.json as { turns: number; head: string | null };
  return { turns, head, items: (items.json as { data: { content: string }[] }).data };
};

/** A create that has lost its key and died before it gave the turn back. */
async function claimFor(id: ConversationId, generation: GenerationId): Promise<void> {
  const { row, at } = await rows.find(ACME, id);
  const head = { generation, claimed_at: new Date().toISOString(), ...parentOf(row.head) };
  const next = { ...row, turns: row.turns + 1, head };
  expect(await rows.write(conversationSubject(ACME, id), next, at)).toBeDefined();
}

const parentOf = (head: { generation: GenerationId } | undefined) => head && { parent: head.generation };

test("of two conversations' creates with one key at once, the one that is refused has no turn of the other's", async () => {
  for (let round = 0; round < 10; round++) {
    const ids = [await openConversation(platform), await openConversation(platform)] as const;
    const headers = { "idempotency-key": `both-${round}` };
    const answers = await Promise.all([
      ask(platform, { conversation: ids[0] }, { headers }),
      ask({ node: other }, { conversation: ids[1] }, { headers }),
    ]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 409]);
    const loser = answers[0].status === 409 ? ids[0] : ids[1];
    expect(await stateOf(loser)).toEqual({ turns: 0, head: null, items: [] });
  }
});

test("a claim for another conversation's generation is passed over, and nothing of that is shown or asked", async () => {
  const [mine, yours] = [await openConversation(platform), await openConversation(platform)];
  const first = await said(platform, { conversation: mine, input: "mine?" }, "Mine.");
  const foreign = await said(platform, { conversation: yours, input: "yours?" }, "Yours.");
  await claimFor(mine, foreign);

  expect((await stateOf(mine)).items.map(({ content }) => content)).toEqual(["mine?", "Mine."]);
  const next = await ask(platform, { conversation: mine, input: "next?" });
  expect(next.status).toBe(201);
  const generation = parseGenerationId((next.json as { id: string }).id);
  const { context, prompt = [] } = await requestedOf(platform, generation);
  expect(context).toEqual({ conversation: mine, turn: 2, parent: first });
  expect(prompt.map((segment) => segment.generation)).toEqual([first]);
  await say(platform, generation, "Next.");
  expect(await stateOf(mine)).toMatchObject({ turns: 2, head: generation });
});

test("a claim for a generation of no conversation is passed over", async () => {
  const mine = await openConversation(platform);
  await claimFor(mine, await said(platform, { input: "loose?" }, "Loose."));
  expect((await stateOf(mine)).items).toEqual([]);
  const next = await ask(platform, { conversation: mine });
  const generation = parseGenerationId((next.json as { id: string }).id);
  expect(await requestedOf(platform, generation)).toMatchObject({ context: { conversation: mine, turn: 1 } });
});
