import { randomUUID } from "node:crypto";
import { Chat } from "@ai-sdk/react";
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import { createSeededRandom } from "@reprise/testkit";
import { type ChatTransport, lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from "ai";
import { afterAll, expect, test, vi } from "vitest";
import { runChatCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { type Asked, type Asker, LOOK_UP, LOOKED_UP, WEATHER_SCHEMA } from "./testing/client.ts";
import { startPlatform } from "./testing/platform.ts";
import { fetchInTurn, STORY } from "./testing/sim.ts";
import { toldIn } from "./testing/told-in.ts";

// Two tests kill a worker.
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

// The transport prints each connection that it loses.
vi.spyOn(console, "error").mockImplementation(() => {});

/** The transport gives up if a connection breaks before its head: cuts are in the middle of answers. */
const CUTS = { count: 3, from: 1_500, to: 2_500 };

/** `Chat`, which `useChat` is made of, with `WorkflowChatTransport` as a page sets it up. */
function openChat({ scripts, tenant, tools, structured }: Asked): Chat<UIMessage> {
  // Each request has its own connection, which can be cut: Node would reuse one that an earlier test left open.
  const headers = { authorization: `Bearer ${platform.key(tenant)}`, connection: "close" };
  const settings = {
    model: "sim",
    ...(tools && { tools: { look_up: { inputSchema: LOOK_UP.parameters } } }),
    ...(structured && { responseFormat: { type: "json", schema: WEATHER_SCHEMA } }),
  };
  const transport = new WorkflowChatTransport({
    api: `${platform.url}/v1/ai-sdk/chat`,
    fetch: fetchInTurn(scripts),
    prepareSendMessagesRequest: ({ id, messages, trigger }) => ({
      headers,
      body: { id, messages, trigger, ...settings },
    }),
    prepareReconnectToStreamRequest: () => ({ headers }),
  });
  const chat: Chat<UIMessage> = new Chat<UIMessage>({
    id: randomUUID(),
    // Its types are those of an older release of `ai` than the page's.
    transport: transport as unknown as ChatTransport<UIMessage>,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) =>
      void chat.addToolOutput({ tool, toolCallId, output: LOOKED_UP }),
  });
  return chat;
}

const workflowTransport: Asker = {
  finish: { completed: "stop", cancelled: "cancelled" },
  comesBack: true,
  cuts: CUTS,
  async ask(asked) {
    const chat = openChat(asked);
    await chat.sendMessage({ text: "Say it." });
    return toldIn(chat);
  },
};

testCells("WorkflowChatTransport", (name) => runChatCase(name, platform, workflowTransport));

test("WorkflowChatTransport gives up at the third GET that breaks, and resumeStream has the whole text", async () => {
  const before = await platform.runs();
  using _ = platform.cutNext(createSeededRandom(11), { ...CUTS, count: 4 });
  const chat = openChat({ platform, scripts: [STORY] });
  await chat.sendMessage({ text: "Say it." });
  expect(chat.error).toMatchObject({ message: expect.stringMatching(/after 3 consecutive errors/) });
  await chat.resumeStream();
  expect(toldIn(chat)).toMatchObject({ text: STORY.text, finish: "stop", error: undefined });
  expect((await platform.runs()) - before).toBe(1);
});

test("WorkflowChatTransport resumes a chat without a run to nothing, without an error", async () => {
  const chat = openChat({ platform, scripts: [STORY] });
  await chat.resumeStream();
  expect([chat.messages, chat.status, chat.error]).toEqual([[], "ready", undefined]);
});
