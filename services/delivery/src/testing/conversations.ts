import {
  type ConversationId,
  type GenerationId,
  parseConversationId,
  parseGenerationId,
  parseTenantId,
  type RequestedEvent,
} from "@reprise/protocol";
import { toRequested } from "../domain/to-requested.ts";
import { append, call, completed, delta, openWorker, type Platform, started } from "./platform.ts";

export const ACME = parseTenantId("acme");

type At = Pick<Platform, "node" | "log">;

export async function openConversation(
  { node }: At,
  body: object = {},
  key?: string,
): Promise<ConversationId> {
  const { status, json } = await call(`${node.url}/v1/conversations`, { body, ...(key && { key }) });
  if (status !== 201) throw new Error(`the conversation was answered ${status}: ${JSON.stringify(json)}`);
  return parseConversationId((json as { id: string }).id);
}

export interface Asked {
  readonly key?: string;
  readonly headers?: Record<string, string>;
}

/** Creates a turn; what it is answered. */
export function ask({ node }: Pick<Platform, "node">, body: object, { key, headers = {} }: Asked = {}) {
  const request = { model: "sim", input: "hello", ...body };
  return call(`${node.url}/v1/generations`, { body: request, headers, ...(key && { key }) });
}

/** Creates a turn that must succeed. */
export async function turn(at: At, body: object, asked: Asked = {}): Promise<GenerationId> {
  const { status, json } = await ask(at, body, asked);
  if (status !== 201) throw new Error(`the turn was answered ${status}: ${JSON.stringify(json)}`);
  return parseGenerationId((json as { id: string }).id);
}

export function workerOf({ log }: Pick<Platform, "log">, generation: GenerationId) {
  return openWorker(log, { tenant: ACME, generation });
}

/** Has a turn say something and end. */
export async function say(
  at: Pick<Platform, "log">,
  generation: GenerationId,
  ...texts: string[]
): Promise<void> {
  const worker = await workerOf(at, generation);
  await append(worker, started(1), ...texts.map((text) => delta(text)), completed());
}

/** A turn that has ended. */
export async function said(at: At, body: object, text: string, asked: Asked = {}): Promise<GenerationId> {
  const generation = await turn(at, body, asked);
  await say(at, generation, text);
  return generation;
}

/** Its seq 0. */
export async function requestedOf(
  { log }: Pick<Platform, "log">,
  generation: GenerationId,
): Promise<RequestedEvent> {
  return toRequested((await log.reader.readFirst({ tenant: ACME, generation }))?.payload);
}

export const user = (content: string) => ({ role: "user", content });
export const assistant = (content: string) => ({ role: "assistant", content });
