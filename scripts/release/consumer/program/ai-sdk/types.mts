// Is checked, and never run: the provider is one of the AI SDK's, and a stream of the client's is told.
import { createReprise, RepriseError, toUIMessageStreamResponse } from "@reprise/ai-sdk";
import { createClient, RepriseError as ClientError } from "@reprise/client";
import { createProviderRegistry, generateText, type LanguageModel, streamText, type UIMessage } from "ai";

const reprise = createReprise({ baseUrl: "http://127.0.0.1:8080", apiKey: "rk_demo" });
export const model: LanguageModel = reprise("sim");
export const registered = createProviderRegistry({ reprise }).languageModel("reprise:sim");
// @ts-expect-error a model has a name
reprise(7);

export async function textOf(messages: UIMessage[]): Promise<string> {
  const { text } = await generateText({ model, prompt: messages.length.toString() });
  // @ts-expect-error a string is no number; `any` would be, and then this line is an error
  const wrong: number = text;
  for await (const delta of streamText({ model, prompt: text }).textStream) return delta + String(wrong);
  return text;
}

export function respond(id: string): Response {
  const { generations } = createClient({ url: "http://127.0.0.1:8080", apiKey: "rk_demo" });
  // @ts-expect-error an index is a number
  toUIMessageStreamResponse(generations.stream(id), { startIndex: "7" });
  return toUIMessageStreamResponse(generations.stream(id), { startIndex: 7, messageId: "msg_1" });
}

/** Both packages throw the same class. */
export const isOneClass: boolean = RepriseError === ClientError;
