import { randomUUID } from "node:crypto";
import { Chat } from "@ai-sdk/react";
import { WorkflowChatTransport } from "@ai-sdk/workflow/client";
import { type ChatTransport, lastAssistantMessageIsCompleteWithToolCalls, type UIMessage } from "ai";
import { type Asked, type Asker, LOOK_UP, LOOKED_UP, WEATHER_SCHEMA } from "../client.ts";
import { fetchInTurn } from "../sim.ts";
import { toldIn } from "./ui-told.ts";

/** `Chat`, which `useChat` is made of, with `WorkflowChatTransport` as a page sets it up: a request takes headers, and a body that names the chat. */
export function openWorkflowChat({ platform, scripts, tenant, tools, structured }: Asked): Chat<UIMessage> {
  // Each request has a connection of its own, which can be cut: Node would use one again that an earlier test has left open.
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
    // Its types are of the release of `ai` that it brings along, which is older than the page's.
    transport: transport as unknown as ChatTransport<UIMessage>,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) =>
      void chat.addToolOutput({ tool, toolCallId, output: LOOKED_UP }),
  });
  return chat;
}

export const workflowTransport: Asker = {
  finish: { completed: "stop", cancelled: "cancelled" },
  async ask(asked) {
    const chat = openWorkflowChat(asked);
    await chat.sendMessage({ text: "Say it." });
    return toldIn(chat);
  },
};
