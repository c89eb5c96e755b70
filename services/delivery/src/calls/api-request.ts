import type { InjectOptions } from "fastify";

/** JSON, as a value or as text. */
type Body = object | string;

/** The HTTP request that creates a generation, and is answered with its stream if `follow` is set. */
export function createRequest(
  body: Body,
  { idempotencyKey, follow = false }: { idempotencyKey?: string | undefined; follow?: boolean | undefined },
): InjectOptions {
  const { headers, ...request } = post("/v1/generations", body);
  const accept = follow ? { accept: "text/event-stream" } : {};
  const key = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
  return { ...request, headers: { ...headers, ...accept, ...key } };
}

export function generationRequest(generation: string): InjectOptions {
  return { method: "GET", url: pathOf(generation), headers: { accept: "application/json" } };
}

/** @param after cursor of the last event that the client has */
export function eventsRequest(generation: string, after: string | undefined): InjectOptions {
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  const headers = { accept: "text/event-stream" };
  return { method: "GET", url: `${pathOf(generation)}/events${query}`, headers };
}

/** A call that changes a generation. */
export function changeRequest(
  generation: string,
  call: "input" | "cancel" | "interrupt" | "tool-results",
  body: Body,
): InjectOptions {
  return post(`${pathOf(generation)}/${call}`, body);
}

export function toAudioEntry(audio: Uint8Array) {
  return { type: "input.audio", audio: Buffer.from(audio).toString("base64") };
}

function post(url: string, payload: Body) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  return { method: "POST", url, headers, payload } as const;
}

function pathOf(generation: string): string {
  return `/v1/generations/${encodeURIComponent(generation)}`;
}
