import { type Broker } from "@reprise/broker";
import { listGenerations } from "@reprise/stream";
import type { RequestedEvent } from "@reprise/protocol";
import type { Trial } from "../../trial/trial.ts";
import { callConversations, historyOf, type TestedConversation } from "./tested-conversation.ts";

const SHARDS = 2;

/**
 * Every engine that was asked for a turn, each attempt of it, must have been asked exactly what a client would have asked that keeps the
 * history itself; the log of each turn must come after that of the one before; the conversation must have these turns and no others.
 * Once the trial's generations have ended and every process runs.
 */
export async function judgeConversations(
  trial: Trial,
  conversations: readonly TestedConversation[],
): Promise<void> {
  for (const conversation of conversations) {
    judgePrompts(trial, conversation);
    await judgeTurns(trial, conversation);
    await judgeItems(trial, conversation);
  }
  await judgeStrays(trial, conversations);
}

function judgePrompts(trial: Trial, conversation: TestedConversation): void {
  for (const [index, { generation }] of conversation.turns.entries()) {
    const expected = `"messages":${JSON.stringify(historyOf(conversation, index))},`;
    // A trial with the same seed may have been in this world before.
    const asked = trial.world.upstream
      .requestsOf(generation.request.seed!)
      .filter(({ openedAt }) => openedAt >= trial.startedAt);
    if (asked.length === 0) blame(trial, conversation, `no engine was asked for turn ${index + 1}`);
    for (const { body } of asked) {
      const at = body.indexOf('"messages":');
      const sent = body.slice(at, at + expected.length);
      if (sent !== expected)
        blame(trial, conversation, `turn ${index + 1} was asked with ${tell(sent, expected)}`);
    }
  }
}

function tell(sent: string, expected: string): string {
  let at = 0;
  while (sent[at] === expected[at]) at++;
  const cut = (text: string) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 80));
  return `${cut(sent)}, not ${cut(expected)}, at character ${at} of its messages`;
}

async function judgeTurns(trial: Trial, conversation: TestedConversation): Promise<void> {
  const { id, tenant, turns } = conversation;
  for (const [index, { generation }] of turns.entries()) {
    const [first = "{}"] = await trial.world.readLog(generation.ref);
    const { context } = JSON.parse(first) as RequestedEvent;
    const parent = turns[index - 1]?.generation.id;
    if (context?.conversation !== id || context.turn !== index + 1 || context.parent !== parent)
      blame(trial, conversation, `turn ${index + 1} says of itself ${JSON.stringify(context)}`);
  }
  const row = await callConversations<{ turns: number; head: string }>(trial, { tenant, path: `/${id}` });
  if (row.turns !== turns.length || row.head !== turns.at(-1)?.generation.id)
    blame(trial, conversation, `it has ${row.turns} turns up to ${row.head}, not ${turns.length}`);
}

async function judgeItems(trial: Trial, conversation: TestedConversation): Promise<void> {
  const { id, tenant, turns } = conversation;
  const path = `/${id}/items?limit=100`;
  const { data } = await callConversations<{ data: { role: string; content: string }[] }>(trial, {
    tenant,
    path,
  });
  const items = JSON.stringify(data.map(({ role, content }) => ({ role, content })));
  const last = turns.at(-1)!.generation.wholeText;
  const expected = [...historyOf(conversation, turns.length - 1), { role: "assistant", content: last }];
  if (items !== JSON.stringify(expected)) blame(trial, conversation, `its items are ${items}`);
}

/** Generations that say that they are turns of these conversations, and that no client was told of. */
async function judgeStrays(trial: Trial, conversations: readonly TestedConversation[]): Promise<void> {
  const { world } = trial;
  const told = new Set(trial.generations.map(({ id }) => id));
  for (const { id: tenant } of world.tenants)
    for await (const ref of listGenerations(world.connection satisfies Broker["main"], tenant, SHARDS)) {
      if (told.has(ref.generation)) continue;
      const [first = "{}"] = await world.readLog(ref);
      const { context } = JSON.parse(first) as RequestedEvent;
      const conversation = conversations.find(({ id }) => id === context?.conversation);
      if (conversation)
        blame(trial, conversation, `${ref.generation} is a turn that was asked for by no client`);
    }
}

function blame(trial: Trial, { id }: TestedConversation, what: string): void {
  trial.blame("conversation", `${id}: ${what}`);
}
