import { toolDefinition } from "@tanstack/ai";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { createSeededRandom } from "@reprise/testkit";
import { afterAll, expect, test } from "vitest";
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

interface ChatOptions {
  readonly tenant?: Tenant;
  /** Native fields of the request. */
  readonly fields?: object;
  readonly tools?: NonNullable<ConstructorParameters<typeof ChatClient>[0]["tools"]>;
}

function createChat({ options }: Script, { tenant, fields = {}, tools = [] }: ChatOptions = {}) {
  const headers = { authorization: `Bearer ${platform.key(tenant)}` };
  return new ChatClient({
    connection: fetchServerSentEvents(`${platform.url}/v1/tanstack/chat?model=sim`, { headers }),
    forwardedProps: { options, ...fields },
    tools,
  });
}

const partsOf = (chat: Pick<ChatClient, "getMessages">) =>
  chat.getMessages().flatMap(({ role, parts }) => (role === "assistant" ? parts : []));

function textOf(chat: Pick<ChatClient, "getMessages">): string {
  return partsOf(chat)
    .flatMap((part) => (part.type === "text" ? [part.content] : []))
    .join("");
}

/** What the client has after a message. */
async function ask(script: Script, options?: ChatOptions) {
  const chat = createChat(script, options);
  await chat.sendMessage("Say it.");
  return { text: textOf(chat), parts: partsOf(chat), status: chat.getStatus(), error: chat.getError() };
}

// The first test: a connection that another one has left open would be used again, and not be cut.
test("TanStack AI | random cuts", async () => {
  // It comes back only where it has had an event: no connection is cut within the headers of its answer.
  platform.cutNext(createSeededRandom(11), { count: 5, from: 1_500, to: 3_000 });
  expect(await ask(STORY)).toMatchObject({ text: STORY.text, status: "ready" });
  expect(platform.cuts).toBeGreaterThan(0);
  expect(await platform.runs()).toBe(1);
});

test("TanStack AI | plain", async () => {
  expect(await ask(QUICK)).toMatchObject({ text: QUICK.text, status: "ready", error: undefined });
});

test("TanStack AI | tools", async () => {
  const asked: unknown[] = [];
  const lookUp = toolDefinition({ name: "look_up", description: "Looks it up." }).client((input) => {
    asked.push(input);
    chat.updateOptions({ forwardedProps: { options: { chunks: ["Found."] } } });
    return { found: 1 };
  });
  const chat: ChatClient = createChat(CALLING, { tools: [lookUp] });
  await chat.sendMessage("Say it.");
  expect(asked).toEqual([CALLED]);
  expect(textOf(chat)).toBe(`${CALLING.text}Found.`);
  expect(chat.getStatus()).toBe("ready");
});

test("TanStack AI | reasoning", async () => {
  const { text, parts } = await ask(REASONING);
  expect(text).toBe(REASONING.text);
  expect(parts).toContainEqual(expect.objectContaining({ type: "thinking", content: REASONED }));
});

test("TanStack AI | structured", async () => {
  const fields = { response_format: { type: "json_schema", schema: { type: "object" } } };
  const { parts } = await ask(STRUCTURED, { fields });
  expect(parts).toContainEqual(
    expect.objectContaining({ type: "structured-output", status: "complete", data: WEATHER }),
  );
});

test("TanStack AI | cancel", async () => {
  const asking = ask(STALLING);
  await platform.cancel(await untilStalled(platform, asking));
  expect(await asking).toMatchObject({
    text: STALLING.text,
    status: "error",
    error: { code: "cancelled" },
  });
});

test("TanStack AI | failure", async () => {
  expect(await ask(FAILING)).toMatchObject({
    text: FAILING.text,
    status: "error",
    error: { code: "engine_failed" },
  });
});

test("TanStack AI | takeover with continuation", async () => {
  const told = await takeOver(platform, SLOW, (script) => ask(script));
  expect(told).toMatchObject({ text: SLOW.text, status: "ready" });
});

test("TanStack AI | takeover without continuation", async () => {
  const told = await takeOver(platform, RESTARTING, (script) => ask(script));
  expect(told).toMatchObject({ status: "error", error: { code: "restarted" } });
});

test("TanStack AI | observe", async () => {
  expect((await ask(CARD, { tenant: "observe" })).text).toBe(CARD.text);
});

test("TanStack AI | gate", async () => {
  expect((await ask(CARD, { tenant: "gate" })).text).toBe(CARD.shown);
});

test("TanStack AI | retract", async () => {
  expect((await ask(CARD, { tenant: "retract" })).text).toBe(CARD.shown);
});
