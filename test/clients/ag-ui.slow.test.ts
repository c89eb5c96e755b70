import { randomUUID } from "node:crypto";
import { HttpAgent } from "@ag-ui/client";
import type { Message } from "@ag-ui/core";
import { createSeededRandom } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
import { MOST_RETURNS } from "./testing/client.ts";
import { startPlatform, type Tenant } from "./testing/platform.ts";
import {
  CALLED,
  CALLING,
  CARD,
  FAILING,
  QUICK,
  REASONED,
  REASONING,
  RESTARTING,
  type Script,
  SLOW,
  STALLING,
  STORY,
  STRUCTURED,
  WEATHER,
} from "./testing/sim.ts";
import { takeOver } from "./testing/take-over.ts";
import { untilStalled } from "./testing/until-stalled.ts";

const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

interface RunOptions {
  readonly agent?: HttpAgent;
  readonly tenant?: Tenant;
  /** Native fields of the request. */
  readonly fields?: object;
  readonly tools?: { name: string; description: string }[];
  readonly runId?: string;
}

/**
 * Where a connection breaks the client cancels its reader, and throws what that says where nothing can catch it: so a page has an unhandled rejection, and a
 * test would fail of one.
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

function createAgent(tenant?: Tenant): HttpAgent {
  return new HttpAgent({
    url: `${platform.url}/v1/ag-ui/agent?model=sim`,
    headers: { authorization: `Bearer ${platform.key(tenant)}` },
    initialMessages: [{ id: "u1", role: "user", content: "Say it." }],
    fetch: fetchQuietly,
  });
}

/** What the client has after a run. */
async function run({ options }: Script, { tenant, fields, tools = [], ...given }: RunOptions = {}) {
  const { agent = createAgent(tenant), runId = randomUUID() } = given;
  const errors: (string | undefined)[] = [];
  await agent.runAgent(
    { runId, tools, forwardedProps: { options, ...fields } },
    { onRunErrorEvent: ({ event }) => void errors.push(event.code) },
  );
  return { agent, text: textOf(agent.messages), error: errors[0] };
}

function textOf(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => (role === "assistant" ? (content ?? "") : "")).join("");
}

// The first test: a connection that another one has left open would be used again, and not be cut.
test("AG-UI | random cuts", async () => {
  platform.cutNext(createSeededRandom(13), { count: 4, from: 200, to: 3_000 });
  const options = { agent: createAgent(), runId: randomUUID() };
  // It does not come back by itself: the app calls the run again.
  const runThrough = (returns: number): ReturnType<typeof run> =>
    run(STORY, options).catch((error: unknown) => {
      if (returns === MOST_RETURNS) throw error;
      return runThrough(returns + 1);
    });
  expect(await runThrough(0)).toMatchObject({ text: STORY.text, error: undefined });
  expect(options.agent.messages).toHaveLength(2);
  expect(platform.cuts).toBeGreaterThan(0);
  expect(await platform.runs()).toBe(1);
});

test("AG-UI | plain", async () => {
  expect(await run(QUICK)).toMatchObject({ text: QUICK.text, error: undefined });
});

test("AG-UI | tools", async () => {
  const tools = [{ name: "look_up", description: "Looks it up." }];
  const { agent } = await run(CALLING, { tools });
  const [call] = agent.messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []) : [],
  );
  expect(call).toMatchObject({ type: "function", function: { name: "look_up" } });
  expect(JSON.parse(call?.function.arguments ?? "")).toEqual(CALLED);
  agent.addMessage({ id: "t1", role: "tool", toolCallId: call?.id ?? "", content: '{"found":1}' });
  const { text } = await run({ options: { chunks: ["Found."] }, text: "" }, { agent, tools });
  expect(text).toBe(`${CALLING.text}Found.`);
});

test("AG-UI | reasoning", async () => {
  const { agent, text } = await run(REASONING);
  expect(text).toBe(REASONING.text);
  expect(agent.messages).toContainEqual(expect.objectContaining({ role: "reasoning", content: REASONED }));
});

test("AG-UI | structured", async () => {
  const fields = { response_format: { type: "json_schema", schema: { type: "object" } } };
  const { text } = await run(STRUCTURED, { fields });
  expect(JSON.parse(text)).toEqual(WEATHER);
});

test("AG-UI | cancel", async () => {
  const running = run(STALLING);
  await platform.cancel(await untilStalled(platform, running));
  expect(await running).toMatchObject({ text: STALLING.text, error: "cancelled" });
});

test("AG-UI | failure", async () => {
  expect(await run(FAILING)).toMatchObject({ text: FAILING.text, error: "engine_failed" });
});

test("AG-UI | takeover with continuation", async () => {
  const told = await takeOver(platform, SLOW, (script) => run(script));
  expect(told).toMatchObject({ text: SLOW.text, error: undefined });
});

test("AG-UI | takeover without continuation", async () => {
  const { script, runId, agent, error } = await takeOver(platform, RESTARTING, async (paced) => {
    const id = randomUUID();
    return { ...(await run(paced, { runId: id })), script: paced, runId: id };
  });
  expect(error).toBe("restarted");
  // The run goes on: called again, the client is given all of it.
  expect(await run(script, { agent, runId })).toMatchObject({ text: RESTARTING.text, error: undefined });
});

test("AG-UI | observe", async () => {
  expect((await run(CARD, { tenant: "observe" })).text).toBe(CARD.text);
});

test("AG-UI | gate", async () => {
  expect((await run(CARD, { tenant: "gate" })).text).toBe(CARD.shown);
});

test("AG-UI | retract", async () => {
  expect((await run(CARD, { tenant: "retract" })).text).toBe(CARD.shown);
});
