import {
  type ChatTransport,
  DefaultChatTransport,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { MOST_RETURNS } from "./client.ts";
import type { Platform, Tenant } from "./platform.ts";
import type { Script } from "./sim.ts";

/** What a client of the AI SDK has of an answer. */
export interface Told {
  readonly message: UIMessage | undefined;
  readonly chunks: readonly UIMessageChunk[];
  readonly error: unknown;
}

export interface UiAsk {
  readonly tenant?: Tenant;
  /** Fields of the body, beside what the transport sends. */
  readonly body?: object;
  /** Default: one message of a user. */
  readonly messages?: UIMessage[];
}

export const ASKED: UIMessage = { id: "u1", role: "user", parts: [{ type: "text", text: "Say it." }] };

export const partsOf = ({ message }: Told) => message?.parts ?? [];
export const typesOf = ({ chunks }: Told) => chunks.map(({ type }) => type);
export const finishOf = ({ chunks }: Told) => chunks.find((chunk) => chunk.type === "finish")?.finishReason;

export function textOf(told: Told): string {
  return partsOf(told)
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
}

/** A page that was told of a failure is told no more. */
const hasEnded = ({ chunks }: Told) => chunks.some(({ type }) => type === "finish" || type === "error");

let made = 0;

/** A chat with `useChat`'s own transport: its page comes back as a page does that is loaded anew. */
export async function askByDefault(platform: Platform, script: Script, ask: UiAsk = {}): Promise<Told> {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${platform.url}/v1/ai-sdk/chat`,
    headers: { authorization: `Bearer ${platform.key(ask.tenant)}` },
    body: { model: "sim", options: script.options, ...ask.body },
  });
  const chatId = `default-${++made}`;
  let told = await begin(transport, chatId, ask);
  for (let returns = 0; !hasEnded(told); returns++) {
    if (returns === MOST_RETURNS) throw new Error("the stream never ends", { cause: told.error });
    told = await read(() => transport.reconnectToStream({ chatId }));
  }
  return told;
}

function begin(
  transport: ChatTransport<UIMessage>,
  chatId: string,
  { messages = [ASKED] }: UiAsk,
): Promise<Told> {
  const last = messages.at(-1);
  const sending = () =>
    transport.sendMessages({
      chatId,
      messages,
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
  return read(sending, last?.role === "assistant" ? structuredClone(last) : undefined);
}

async function read(
  open: () => Promise<ReadableStream<UIMessageChunk> | null>,
  goesOn?: UIMessage,
): Promise<Told> {
  const chunks: UIMessageChunk[] = [];
  let message: UIMessage | undefined;
  try {
    const stream = await open();
    if (!stream) throw new Error("there is nothing to come back to");
    const seen = stream.pipeThrough(
      new TransformStream<UIMessageChunk, UIMessageChunk>({
        transform(chunk, controller) {
          chunks.push(chunk);
          controller.enqueue(chunk);
        },
      }),
    );
    const states = readUIMessageStream({
      stream: seen,
      terminateOnError: true,
      ...(goesOn && { message: goesOn }),
    });
    for await (const state of states) message = state;
    return { message, chunks, error: undefined };
  } catch (error) {
    return { message, chunks, error };
  }
}
