import { toolDefinition } from "@tanstack/ai";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { afterAll } from "vitest";
import { runCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { type Client, codeOf, LOOK_UP, LOOKED_UP, WEATHER_SCHEMA } from "./testing/client.ts";
import { startPlatform } from "./testing/platform.ts";

const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

const tanstack: Client = {
  streams: true,
  failsBare: false,
  finish: { completed: "ready", cancelled: "cancelled" },
  comesBack: true,
  // It comes back only after it had an event: no connection is cut within the head of its answer.
  cuts: { from: 1_500, to: 3_000 },
  async ask({ scripts, tenant, tools, structured }) {
    const calls: unknown[] = [];
    const [first, second = first] = scripts;
    const lookUp = toolDefinition({ name: LOOK_UP.name, description: LOOK_UP.description }).client(
      (input) => {
        calls.push(input);
        chat.updateOptions({ forwardedProps: { options: second.options } });
        return LOOKED_UP;
      },
    );
    const headers = { authorization: `Bearer ${platform.key(tenant)}` };
    const chat: ChatClient = new ChatClient({
      connection: fetchServerSentEvents(`${platform.url}/v1/tanstack/chat?model=sim`, { headers }),
      forwardedProps: {
        options: first.options,
        ...(structured && { response_format: { type: "json_schema", schema: WEATHER_SCHEMA } }),
      },
      tools: tools ? [lookUp] : [],
    });
    await chat.sendMessage("Say it.");
    const parts = chat.getMessages().flatMap(({ role, parts: said }) => (role === "assistant" ? said : []));
    const error = chat.getError();
    const isCancelled = codeOf(error) === "cancelled";
    return {
      text: parts
        .map((part) => {
          if (part.type === "structured-output") return JSON.stringify(part.data);
          return part.type === "text" ? part.content : "";
        })
        .join(""),
      reasoning: parts.map((part) => (part.type === "thinking" ? part.content : "")).join(""),
      calls,
      finish: isCancelled ? "cancelled" : chat.getStatus(),
      error: isCancelled ? undefined : error,
    };
  },
};

testCells("TanStack AI", (name) => runCase(name, platform, tanstack));
