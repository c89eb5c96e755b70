import { type ChatAnswer, type ChatStreamOptions, readChatStream } from "../openai/response/chat-stream.ts";
import { collect } from "./collect.ts";

/** Asks an upstream that answers with this body. */
export function answerOf(body: AsyncIterable<Uint8Array>): () => Promise<ChatAnswer> {
  return async () => ({ body, release: () => undefined });
}

interface ReadOptions extends Partial<ChatStreamOptions> {
  /** The error that breaks the connection after the last piece. Default: the body ends. */
  readonly thrown?: Error;
}

/** Reads the stream of a chat completion that comes in these pieces. */
export async function readChat(
  pieces: readonly (string | Uint8Array)[],
  { thrown, ...options }: ReadOptions = {},
) {
  async function* body() {
    const utf8 = new TextEncoder();
    for (const piece of pieces) yield typeof piece === "string" ? utf8.encode(piece) : piece;
    if (thrown) throw thrown;
  }
  const leftOut: string[] = [];
  const onLeftOut = (part: string) => void leftOut.push(part);
  const { signal } = new AbortController();
  const collected = await collect(
    readChatStream(answerOf(body()), { signal, producedTokens: 0, onLeftOut, ...options }),
  );
  return { ...collected, leftOut };
}
