import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { jsonSchema, type LanguageModel, Output, stepCountIs, streamText, tool } from "ai";
import { type Asked, type Client, LOOK_UP, LOOKED_UP, MESSAGES, WEATHER_SCHEMA } from "./client.ts";
import { readChatBody, readResponseBody } from "./read-whole.ts";
import { fetchInTurn } from "./sim.ts";

const openaiFor = ({ platform, scripts, tenant }: Asked) =>
  createOpenAI({
    apiKey: platform.key(tenant),
    baseURL: `${platform.url}/v1`,
    fetch: fetchInTurn(scripts),
  });

/** `streamText` with `createOpenAI(…).chat(…)`. */
export const aiSdkOpenai: Client = clientOf(readChatBody, (asked) => openaiFor(asked).chat("sim"));

/** `streamText` with `createOpenAI(…).responses(…)`. */
export const aiSdkResponses: Client = clientOf(readResponseBody, (asked) =>
  openaiFor(asked).responses("sim"),
);

/** `streamText` with `createOpenAICompatible(…)`. */
export const aiSdkCompatible: Client = clientOf(readChatBody, ({ platform, scripts, tenant }) =>
  createOpenAICompatible({
    name: "reprise",
    apiKey: platform.key(tenant),
    baseURL: `${platform.url}/v1`,
    fetch: fetchInTurn(scripts),
    includeUsage: true,
    supportsStructuredOutputs: true,
  })("sim"),
);

const lookUp = tool({
  description: LOOK_UP.description,
  inputSchema: jsonSchema<object>({ ...LOOK_UP.parameters }),
  execute: () => LOOKED_UP,
});

function clientOf(readWhole: Client["readWhole"], toModel: (asked: Asked) => LanguageModel): Client {
  return {
    streams: true,
    failsBare: false,
    comesBack: false,
    finish: { completed: "stop", cancelled: "stop" },
    readWhole,
    async ask(asked) {
      const told = {
        text: "",
        reasoning: "",
        calls: [] as unknown[],
        finish: undefined as string | undefined,
      };
      let error: unknown;
      const { idempotencyKey: key } = asked;
      const { fullStream } = streamText({
        model: toModel(asked),
        messages: [...MESSAGES],
        maxRetries: 0,
        // The parts of the stream have it.
        onError: () => undefined,
        stopWhen: stepCountIs(5),
        ...(key !== undefined && { headers: { "Idempotency-Key": key } }),
        ...(asked.tools && { tools: { look_up: lookUp } }),
        ...(asked.structured && {
          output: Output.object({ schema: jsonSchema<object>({ ...WEATHER_SCHEMA }) }),
        }),
      });
      try {
        for await (const part of fullStream) {
          if (part.type === "text-delta") told.text += part.text;
          if (part.type === "reasoning-delta") told.reasoning += part.text;
          if (part.type === "tool-call") told.calls.push(part.input);
          if (part.type === "finish") told.finish = part.finishReason;
          if (part.type === "error") error = part.error;
        }
      } catch (thrown) {
        // A connection that is lost before the first part is thrown.
        error = thrown;
      }
      return { ...told, error };
    },
  };
}
