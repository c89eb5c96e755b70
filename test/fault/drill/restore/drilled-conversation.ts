import {
  effectiveRequest,
  type Message,
  parseConversationId,
  parseGenerationId,
  type RequestedEvent,
} from "@reprise/protocol";
import type { DrillClient } from "./drill-client.ts";
import type { Logs } from "./judge-platform.ts";

/** A conversation as its client knows it when the backup begins. */
export interface DrilledConversation {
  readonly id: string;
  /** Its turns' generations, which have ended. */
  readonly turns: readonly string[];
  readonly messages: readonly Message[];
  /** What the API says of it. */
  readonly row: unknown;
}

/** Opens a conversation, and has so many turns in it. */
export async function holdConversation(client: DrillClient, count: number): Promise<DrilledConversation> {
  const { body } = await client.call("/v1/conversations", client.tenant.key, { metadata: { of: "drill" } });
  const { id } = body as { id: string };
  const turns: string[] = [];
  const messages: Message[] = [];
  for (let i = 1; i <= count; i++) {
    const input = `Turn ${i}?`;
    const turn = await askTurn(client, id, input);
    messages.push(
      { role: "user", content: input },
      { role: "assistant", content: await client.textOf(turn) },
    );
    turns.push(turn);
  }
  const { body: row } = await client.call(`/v1/conversations/${id}`);
  return { id, turns, messages, row };
}

export function askTurn(client: DrillClient, conversation: string, input: string): Promise<string> {
  return client.send({
    model: "sim",
    input,
    conversation: parseConversationId(conversation),
    seed: client.sent.size,
    options: { tokens: 20, tokens_per_second: 0 },
  });
}

/**
 * Whether a conversation is what it was when it was copied, and goes on: its next turn stands behind the last one that was copied, and
 * its model is given just what was said up to there.
 * @param readLog of a generation that has ended
 */
export async function judgeConversation(
  client: DrillClient,
  { id, turns, messages, row: was }: DrilledConversation,
  readLog: (generation: string) => Promise<Logs>,
): Promise<string[]> {
  const problems: string[] = [];
  const expect = (what: string, found: unknown, expected: unknown) => {
    const [one, other] = [JSON.stringify(found), JSON.stringify(expected)];
    if (one !== other) problems.push(`${what} of ${id} is ${one}, not ${other}`);
  };
  const { body: row } = await client.call(`/v1/conversations/${id}`);
  expect("the row", row, was);
  const { body: items } = await client.call(`/v1/conversations/${id}/items`);
  const { data = [] } = items as { data?: Message[] };
  expect(
    "what was said",
    data.map(({ role, content }) => ({ role, content })),
    messages,
  );

  const input = "And now?";
  const next = parseGenerationId(await askTurn(client, id, input));
  const text = await client.textOf(next);
  if (text === "") problems.push(`the next turn of ${id} has said nothing`);
  const [first = "{}"] = (await readLog(next)).get(next) ?? [];
  const requested = JSON.parse(first) as RequestedEvent;
  expect("the next turn's place", requested.context, {
    conversation: id,
    turn: turns.length + 1,
    parent: turns.at(-1),
  });
  expect("the next turn's prompt", effectiveRequest(requested).input, [
    ...messages,
    { role: "user", content: input },
  ]);
  return problems;
}
