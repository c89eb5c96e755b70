import { parseProtocolId } from "@reprise/projections";
import { type GenerationRef, parseTenantId } from "@reprise/protocol";
import { openSseReader, type SseReader } from "@reprise/testkit";
import {
  append,
  authorization,
  call,
  type CallOptions,
  completed,
  delta,
  KEYS,
  openWorker,
  type Platform,
  started,
} from "../../../testing/platform.ts";

type At = Pick<Platform, "node" | "log">;

export interface ResponseJson {
  readonly id: string;
  readonly object: string;
  readonly status: string;
  readonly output: readonly {
    readonly id: string;
    readonly type: string;
    readonly content?: readonly { readonly text?: string }[];
  }[];
  readonly error: { readonly code: string } | null;
  readonly [field: string]: unknown;
}

export const ENDED_WITH_CALLS = {
  type: "generation.completed",
  finish_reason: "tool_calls",
  usage: { input_tokens: 1, output_tokens: 1 },
} as const;

/** A call of `POST /v1/responses`. */
export function askResponse({ url }: { url: string }, body: object, options: CallOptions = {}) {
  return call(`${url}/v1/responses`, { body: { model: "sim", input: "hello", ...body }, ...options });
}

/** @param key of the tenant that its name says, or a stream token of acme's */
export function refOf(id: string, key: string = KEYS.acme): GenerationRef {
  const tenant = parseTenantId(key.startsWith("rk_") ? key.split("_")[1] : "acme");
  return { tenant, generation: parseProtocolId("resp_", id) };
}

/** A response that runs in the background, and its worker. */
export async function beginResponse({ node, log }: At, body: object = {}, options: CallOptions = {}) {
  const { status, json } = await askResponse(node, { background: true, ...body }, options);
  const response = json as ResponseJson;
  if (status !== 200) throw new Error(`the response was answered ${status}: ${JSON.stringify(json)}`);
  const ref = refOf(response.id, options.key);
  return {
    id: response.id,
    ref,
    response,
    url: `${node.url}/v1/responses/${response.id}`,
    worker: await openWorker(log, ref),
  };
}

/** A response that has said this and has ended. */
export async function endedResponse(at: At, text: string, body: object = {}, options: CallOptions = {}) {
  const begun = await beginResponse(at, body, options);
  await append(begun.worker, started(1), delta(text), completed());
  return begun;
}

export function openStream(url: string, key: string = KEYS.acme): Promise<SseReader> {
  return openSseReader(url, { headers: authorization(key) });
}

interface StreamEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly delta?: string;
  readonly response?: ResponseJson;
}

export function eventsOf({ frames }: Pick<SseReader, "frames">): StreamEvent[] {
  return frames.map(({ data }) => JSON.parse(data) as StreamEvent);
}

export function textOf({ output }: ResponseJson): string {
  return output.flatMap(({ content = [] }) => content.map(({ text = "" }) => text)).join("");
}
