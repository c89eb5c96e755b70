import { readStreamHealth } from "@reprise/broker";
import { parseGenerationId, parseTenantId, THREADS_STREAM } from "@reprise/protocol";
import { openSseReader, type SseReader } from "@reprise/testkit";
import { authorization, call, type CallOptions, openWorker, type Platform } from "../../testing/platform.ts";

export const CHAT = { model: "sim", messages: [{ role: "user", content: "hello" }] };

export interface ChatOptions {
  /** Fields beside those of `CHAT`. */
  readonly body?: object;
  readonly idempotencyKey?: string;
  readonly lastEventId?: string;
  /** Value of the retry-count header, as the package `openai` sends it. */
  readonly retries?: number | string;
  /** Default: that of `acme`. */
  readonly key?: string;
}

/** A completion that is streamed. */
export function openChat(
  { url }: { url: string },
  { body, idempotencyKey, lastEventId, retries, key }: ChatOptions = {},
): Promise<SseReader> {
  return openSseReader(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      ...authorization(key),
      ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
      ...(retries !== undefined && { "x-stainless-retry-count": String(retries) }),
    },
    body: { ...CHAT, stream: true, ...body },
    lastEventId,
  });
}

/** A call of `POST /v1/chat/completions`. */
export function askChat({ url }: { url: string }, options: CallOptions = {}) {
  return call(`${url}/v1/chat/completions`, { body: CHAT, ...options });
}

/** The generation that a call has created, by the header of its answer, and its worker. */
export async function workOn({ log }: Platform, id: unknown) {
  const ref = { tenant: parseTenantId("acme"), generation: parseGenerationId(id) };
  return { ref, path: `/v1/generations/${ref.generation}`, worker: await openWorker(log, ref) };
}

/** Returns the number of requests that a retry would find. */
export async function findableRequests({ broker }: Platform): Promise<number> {
  const streams = await readStreamHealth(broker.main);
  return streams.find(({ name }) => name === THREADS_STREAM)?.messages ?? 0;
}

export interface Chunk {
  readonly id?: string;
  readonly choices?: readonly {
    readonly delta: {
      readonly role?: string;
      readonly content?: string;
      readonly tool_calls?: readonly unknown[];
    };
    readonly finish_reason: string | null;
  }[];
  readonly usage?: object | null;
  readonly error?: object;
}

/** The chunks so far; `[DONE]` is left out. */
export function chunksOf({ frames }: Pick<SseReader, "frames">): Chunk[] {
  return frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data) as Chunk);
}

export function textOf(reader: Pick<SseReader, "frames">): string {
  return chunksOf(reader)
    .map(({ choices }) => choices?.[0]?.delta.content ?? "")
    .join("");
}

/** Why a stream says that it has ended. */
export function finishOf(reader: Pick<SseReader, "frames">): string | undefined {
  const reasons = chunksOf(reader).map(({ choices }) => choices?.[0]?.finish_reason);
  return reasons.findLast((reason) => typeof reason === "string") ?? undefined;
}
