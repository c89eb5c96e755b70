import { setTimeout as delay } from "node:timers/promises";
import type { Message } from "@reprise/protocol";
import type { TestedGeneration } from "../../trial/tested-generation.ts";
import type { Trial } from "../../trial/trial.ts";
import type { Tenant } from "../../world/tenant.ts";

/** A conversation that a trial has, turn by turn, as its client knows it. */
export interface TestedConversation {
  readonly id: string;
  readonly tenant: Tenant;
  readonly turns: Turn[];
}

interface Turn {
  readonly question: string;
  readonly generation: TestedGeneration;
}

const POLL_MS = 200;
const TOKENS = 60;
const TOKENS_PER_SECOND = 100;

/** Before anything is broken. */
export async function openConversation(trial: Trial, index: number): Promise<TestedConversation> {
  const tenant = trial.world.tenants[index % trial.world.tenants.length]!;
  const { id } = await callConversations<{ id: string }>(trial, { tenant, path: "", body: {} });
  return { id, tenant, turns: [] };
}

/** Asks for the next turn of a conversation, over any node, for as long as the SDK retries. */
export async function addTurn(trial: Trial, conversation: TestedConversation): Promise<TestedGeneration> {
  // What JSON escapes and UTF-8 needs more bytes for is in it.
  const question = `Turn ${conversation.turns.length + 1} of “${conversation.id}”:\n\tgo on, ${trial.random.integer(0, 1e9)}.`;
  const generation = await trial.create({
    tenant: conversation.tenant,
    model: "upstream",
    tokens: TOKENS,
    tokensPerSecond: TOKENS_PER_SECOND,
    prepare: (request) => Object.assign(request, { input: question, conversation: conversation.id }),
  });
  conversation.turns.push({ question, generation });
  return generation;
}

/** The messages before a turn, from 0 on, and its own question: as a client would send that which keeps the history itself. */
export function historyOf({ turns }: TestedConversation, turn: number): readonly Message[] {
  return turns.slice(0, turn + 1).flatMap(({ question, generation }, index): Message[] => {
    const asked: Message = { role: "user", content: question };
    return index === turn ? [asked] : [asked, { role: "assistant", content: generation.wholeText }];
  });
}

interface ConversationCall {
  readonly tenant: Tenant;
  /** After `/v1/conversations`. */
  readonly path: string;
  /** Sent as JSON. Absent: the call is a GET. */
  readonly body?: object;
}

/** One call to the first node, made again while the broker is not back yet. @throws Error for any other answer that is not a good one */
export async function callConversations<T>(trial: Trial, call: ConversationCall): Promise<T> {
  const { tenant, path, body } = call;
  const response = await fetch(`${trial.world.deliveries[0]!.url}/v1/conversations${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${tenant.key}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.text();
  if (response.ok) return JSON.parse(answer) as T;
  if (response.status !== 503)
    throw new Error(`/v1/conversations${path} was answered ${response.status}: ${answer}`);
  await delay(POLL_MS);
  return callConversations(trial, call);
}
