import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";
import { afterAll } from "vitest";
import { runCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { type Asked, type Client, LOOK_UP, LOOKED_UP, type Told, WEATHER_SCHEMA } from "./testing/client.ts";
import { startPlatform } from "./testing/platform.ts";

const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

/**
 * The client cancels its reader when a connection breaks, and does not catch what that throws: a page has an unhandled rejection,
 * and a test would fail.
 */
const fetchQuietly: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  const { body } = response;
  if (!body) return response;
  const getReader = body.getReader.bind(body);
  const quietly = () => {
    const reader = getReader();
    const cancel = reader.cancel.bind(reader);
    return Object.assign(reader, { cancel: () => cancel().catch(() => undefined) });
  };
  return Object.defineProperty(response, "body", { value: Object.assign(body, { getReader: quietly }) });
};

/** Asks with a new agent. Its key is the id of the run. */
async function ask({ scripts, tenant, tools, structured, idempotencyKey }: Asked): Promise<Told> {
  const agent = new HttpAgent({
    url: `${platform.url}/v1/ag-ui/agent?model=sim`,
    headers: { authorization: `Bearer ${platform.key(tenant)}` },
    initialMessages: [{ id: "u1", role: "user", content: "Say it." }],
    fetch: fetchQuietly,
  });
  let code: string | undefined;
  let thrown: unknown;
  for (const [turn, { options }] of scripts.entries()) {
    const call = callsOf(agent).at(-1);
    if (turn > 0 && call)
      agent.addMessage({ id: randomUUID(), role: "tool", toolCallId: call.id, content: LOOKED_UP });
    const fields = structured && {
      response_format: { type: "json_schema", schema: WEATHER_SCHEMA },
    };
    await agent
      .runAgent(
        {
          runId: idempotencyKey ?? randomUUID(),
          tools: tools ? [LOOK_UP] : [],
          forwardedProps: { options, ...fields },
        },
        { onRunErrorEvent: ({ event }) => void (code = event.code) },
      )
      .catch((error: unknown) => (thrown = error));
  }
  const textIn = (role: string) =>
    agent.messages
      .map((message) => (message.role === role && typeof message.content === "string" ? message.content : ""))
      .join("");
  const isCancelled = code === "cancelled";
  return {
    text: textIn("assistant"),
    reasoning: textIn("reasoning"),
    calls: callsOf(agent).map((call): unknown => JSON.parse(call.function.arguments)),
    finish: isCancelled ? "cancelled" : "finished",
    error: code === undefined ? thrown : isCancelled ? undefined : { code },
  };
}

function callsOf({ messages }: HttpAgent) {
  return messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
}

const agUi: Client = {
  streams: true,
  failsBare: false,
  finish: { completed: "finished", cancelled: "cancelled" },
  comesBack: false,
  cuts: { from: 200, to: 3_000 },
  ask,
  // The run continues: called again with its id, the client is given all of it.
  readWhole: async (asked) => (await ask(asked)).text,
};

testCells("AG-UI", (name) => runCase(name, platform, agUi));
