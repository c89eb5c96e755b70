import { randomUUID } from "node:crypto";
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { afterAll } from "vitest";
import { runChatCase } from "./testing/cases.ts";
import { testCells } from "./testing/cells.ts";
import { type Asker, LOOK_UP, LOOKED_UP, MOST_RETURNS, WEATHER_SCHEMA } from "./testing/client.ts";
import { startPlatform } from "./testing/platform.ts";
import { fetchInTurn } from "./testing/sim.ts";
import { toldIn } from "./testing/told-in.ts";

// Two tests kill a worker.
const platform = await startPlatform({ workers: 2, moderation: true });
afterAll(() => platform[Symbol.asyncDispose]());

const ASKED: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Say it." }] };

interface Read {
  readonly message: UIMessage | undefined;
  /** True if the stream has told the end of the answer, or its failure. */
  readonly hasEnded: boolean;
  readonly error: unknown;
}

/** The transport of `useChat` without a page: it reconnects as a reloaded page does. */
const client: Asker = {
  finish: { completed: "stop", cancelled: "cancelled" },
  comesBack: true,
  // A POST that is lost before its head has no run to reconnect to.
  cuts: { from: 1_500, to: 4_000 },
  async ask({ scripts, tenant, tools, structured }) {
    const transport = new DefaultChatTransport<UIMessage>({
      api: `${platform.url}/v1/ai-sdk/chat`,
      headers: { authorization: `Bearer ${platform.key(tenant)}` },
      fetch: fetchInTurn(scripts),
      body: {
        model: "sim",
        ...(tools && { tools: { look_up: { inputSchema: LOOK_UP.parameters } } }),
        ...(structured && { responseFormat: { type: "json", schema: WEATHER_SCHEMA } }),
      },
    });
    const chatId = randomUUID();
    const send = async (messages: UIMessage[], last?: UIMessage): Promise<Read> => {
      let told = await read(
        () =>
          transport.sendMessages({
            chatId,
            messages,
            trigger: "submit-message",
            messageId: undefined,
            abortSignal: undefined,
          }),
        last,
      );
      for (let returns = 0; !told.hasEnded; returns++) {
        if (returns === MOST_RETURNS) throw new Error("The stream never ends.", { cause: told.error });
        told = await read(() => transport.reconnectToStream({ chatId }));
      }
      return told;
    };
    let told = await send([ASKED]);
    for (let turn = 1; turn < scripts.length; turn++) {
      const answered = answerCalls(told.message!);
      told = await send([ASKED, answered], structuredClone(answered));
    }
    return toldIn({ messages: told.message ? [told.message] : [], error: told.error });
  },
};

testCells("AI SDK DefaultChatTransport", (name) => runChatCase(name, platform, client));

function answerCalls(message: UIMessage): UIMessage {
  const parts = message.parts.map((part) =>
    part.type === "tool-look_up" ? { ...part, state: "output-available", output: LOOKED_UP } : part,
  );
  return { ...message, parts } as UIMessage;
}

/** @param continued the message that the answer continues */
async function read(
  open: () => Promise<ReadableStream<UIMessageChunk> | null>,
  continued?: UIMessage,
): Promise<Read> {
  let message: UIMessage | undefined;
  let hasEnded = false;
  try {
    const stream = await open();
    if (!stream) throw new Error("There is no run to reconnect to.");
    const seen = stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform(chunk, controller) {
          hasEnded ||= chunk.type === "finish" || chunk.type === "error";
          controller.enqueue(chunk);
        },
      }),
    );
    const states = readUIMessageStream({
      stream: seen,
      terminateOnError: true,
      ...(continued && { message: continued }),
    });
    for await (const state of states) message = state;
    return { message, hasEnded, error: undefined };
  } catch (error) {
    return { message, hasEnded, error };
  }
}
