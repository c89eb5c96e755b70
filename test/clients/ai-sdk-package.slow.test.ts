import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createReprise } from "@reprise/ai-sdk";
import { createSeededRandom, createTempDir } from "@reprise/testkit";
import {
  DefaultChatTransport,
  readUIMessageStream,
  streamText,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { afterAll, expect, test } from "vitest";
import { readDocument } from "../e2e/testing/document.ts";
import { startPlatform } from "./testing/platform.ts";
import { QUICK, STORY } from "./testing/sim.ts";

const platform = await startPlatform();
afterAll(() => platform[Symbol.asyncDispose]());

test("streamText with @reprise/ai-sdk reads the whole text of one run through cuts", async () => {
  const reprise = createReprise({ baseUrl: platform.url, apiKey: platform.key() });
  using _ = platform.cutNext(createSeededRandom(11), { count: 3 });
  const result = streamText({
    model: reprise("sim"),
    prompt: "Say it.",
    maxRetries: 0,
    providerOptions: { reprise: { options: STORY.options as Record<string, never> } },
  });
  let text = "";
  for await (const delta of result.textStream) text += delta;
  expect(text).toBe(STORY.text);
  expect(await result.finishReason).toBe("stop");
  expect((await result.usage).outputTokens).toBe(150);
  expect(platform.cuts).toBeGreaterThan(0);
  expect(await platform.runs()).toBe(1);
});

interface Handler {
  readonly POST: (request: Request) => Promise<Response>;
  readonly GET: (request: Request, context: { params: Promise<{ id: string }> }) => Promise<Response>;
}

/** The README's route handler, from a file. */
async function loadHandler(dir: string): Promise<Handler> {
  const code = readDocument("packages/ai-sdk/README.md").block("ts", "export async function POST");
  const key = JSON.stringify(platform.key());
  const path = join(dir, "route.mts");
  await writeFile(
    path,
    code.replace("http://127.0.0.1:8080", platform.url).replace('process.env["KEY"]', key),
  );
  return (await import(path)) as Handler;
}

/** Reads a message as far as the stream has it. */
async function textOf(stream: ReadableStream<UIMessageChunk> | null): Promise<string | undefined> {
  if (!stream) return undefined;
  let said: UIMessage | undefined;
  for await (const message of readUIMessageStream({ stream })) said = message;
  return said?.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

test("useChat's transport asks the README's route handler, joins its run with a second try, and reads it again", async () => {
  await using dir = await createTempDir("handler");
  const { POST, GET } = await loadHandler(dir.path);
  const before = await platform.runs();
  const transport = new DefaultChatTransport<UIMessage>({
    api: "http://site/api/chat",
    body: { options: QUICK.options },
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const [, id] = /chat\/(.*)\/stream$/.exec(request.url) ?? [];
      return id === undefined ? POST(request) : GET(request, { params: Promise.resolve({ id }) });
    },
  });
  const asked: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Say it." }] };
  const send = (messageId?: string) =>
    transport.sendMessages({
      chatId: "c1",
      messages: [asked],
      trigger: "submit-message",
      messageId,
      abortSignal: undefined,
    });
  expect(await textOf(await send())).toBe(QUICK.text);
  expect(await textOf(await send("u1"))).toBe(QUICK.text);
  expect(await textOf(await transport.reconnectToStream({ chatId: "c1" }))).toBe(QUICK.text);
  expect(await transport.reconnectToStream({ chatId: "none" })).toBeNull();
  expect((await platform.runs()) - before).toBe(1);
});
