import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { check, checkStatus } from "./check.ts";
import { type Answer, call, type CallOptions } from "./http/call.ts";
import { readEventStream } from "./http/event-stream.ts";
import type { Target } from "./target.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface Event extends Fields {
  readonly seq: number;
  readonly type: string;
}

/** A generation, as far as the cases read it. */
export interface Generation extends Fields {
  readonly id: string;
  readonly status: string;
  readonly text: string;
  readonly cursor: string;
  readonly tool_calls: readonly { readonly call_id: string }[];
}

/** Ends in less than a second. */
export const SHORT = { tokens: 12, tokens_per_second: 100, seed: 7 } as const;
/** Runs for a minute. */
export const LONG = { tokens: 1_200, tokens_per_second: 20, seed: 7 } as const;
/** Begins, and then says nothing for a minute. */
export const SILENT = { tokens: 4, first_token_ms: 55_000 } as const;
/** Fails after a few tokens. */
export const FAILING = { ...SHORT, fail_after_tokens: 4 } as const;
/** Calls two tools after a few tokens. */
export const CALLING = { ...SHORT, tool_call_after_tokens: 4, tool_calls: 2 } as const;

const TOOLS = [{ name: "look_up", parameters: { type: "object" } }] as const;

/** Ends a generation at its engine's first failure. */
const FAIL_AT_ONCE = { max_attempts: 1 } as const;

export function toRequest({ model }: Target, options: Fields, fields: Fields = {}): Fields {
  return {
    model,
    input: "Tell me about streams.",
    options,
    ...("tool_call_after_tokens" in options && { tools: TOOLS }),
    ...("fail_after_tokens" in options && { policy: FAIL_AT_ONCE }),
    ...fields,
  };
}

export function newKey(): string {
  return `conformance-${randomUUID()}`;
}

/** Creates a generation. One that runs for long is cancelled after the case. */
export async function create(
  target: Target,
  options: Fields,
  { fields, ...rest }: CallOptions & { readonly fields?: Fields } = {},
): Promise<Answer & { readonly id: string }> {
  const body = toRequest(target, options, fields);
  const answer = await call(target, "POST /v1/generations", { body, ...rest });
  checkStatus(answer, 200, 201);
  const { id } = answer.json;
  check(typeof id === "string", "the generation's id", answer.json);
  if (options !== SHORT) target.longRunning.add(id);
  return { ...answer, id };
}

export async function read(target: Target, id: string): Promise<Generation> {
  const answer = await call(target, `GET /v1/generations/${id}`);
  checkStatus(answer, 200);
  return answer.json as Generation;
}

/** Polls until the generation is as wanted. */
export async function readUntil(
  target: Target,
  id: string,
  holds: (generation: Generation) => boolean,
): Promise<Generation> {
  for (;;) {
    const generation = await read(target, id);
    if (holds(generation)) return generation;
    await pause(50, undefined, { signal: target.signal });
  }
}

export const hasEnded = ({ settled }: Generation): boolean => settled === true;

/** Creates a generation and waits for its end. */
export async function createEnded(target: Target, options: Fields, fields: Fields = {}): Promise<Generation> {
  const { id } = await create(target, options, { fields });
  return readUntil(target, id, hasEnded);
}

/** Creates a generation that waits for the answers of its calls. */
export async function createCalling(target: Target, fields: Fields = {}): Promise<Generation> {
  const { id } = await create(target, CALLING, { fields });
  return readUntil(target, id, ({ tool_calls: calls }) => calls.length === CALLING.tool_calls);
}

export function answerTool(target: Target, id: string, callId: string, key?: string): Promise<Answer> {
  const body = { call_id: callId, output: { found: callId } };
  return call(target, `POST /v1/generations/${id}/tool-results`, { body, key });
}

export function cancel(target: Target, id: string, key?: string): Promise<Answer> {
  return call(target, `POST /v1/generations/${id}/cancel`, { body: { reason: "conformance" }, key });
}

export function eventsPath(id: string, query: Readonly<Record<string, string | number>> = {}): string {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  return `GET /v1/generations/${id}/events${search.size === 0 ? "" : `?${search}`}`;
}

export interface Page {
  readonly events: readonly Event[];
  readonly cursor: string;
  readonly ended: boolean;
}

export async function readPage(
  target: Target,
  id: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<Page> {
  const answer = await call(target, eventsPath(id, query), { headers: { accept: "application/json" } });
  checkStatus(answer, 200);
  const page = answer.json as unknown as Page;
  check(Array.isArray(page.events) && typeof page.cursor === "string", "a page of events", answer.json);
  return page;
}

/** All events from the log's start, by pages, until the end. */
export async function readLog(target: Target, id: string): Promise<Event[]> {
  const events: Event[] = [];
  for (let after = ""; ;) {
    const page = await readPage(target, id, { ...(after !== "" && { after }), wait: 5_000 });
    events.push(...page.events);
    if (page.ended) return events;
    after = page.cursor;
  }
}

/** All events of an ended generation with their cursors, by a stream. */
export async function readFrames(target: Target, id: string, after?: string) {
  const stream = await readEventStream(target, eventsPath(id, after === undefined ? {} : { after }));
  const events = stream.frames.map(({ data }) => JSON.parse(data) as Event);
  return { ...stream, events };
}

export const isTerminal = ({ type }: Event): boolean =>
  /^generation\.(completed|failed|cancelled)$/.test(type);

/** The text of output 0, with rewinds (§6.3). */
export function textOf(events: readonly Event[]): string {
  let kept: Event[] = [];
  for (const event of events) {
    if (event.type === "output.rewind") kept = kept.filter(({ seq }) => seq <= Number(event["to_seq"]));
    else if (event.type === "output.delta" && (event["output"] ?? 0) === 0) kept.push(event);
  }
  return kept.map(({ text }) => String(text)).join("");
}

/** A stream token for this generation with some of the roles. */
export async function mintToken(
  target: Target,
  id: string,
  scopes: readonly string[],
  ttlSeconds = 60,
): Promise<string | undefined> {
  const body = { scopes, ttl_seconds: ttlSeconds };
  const { status, json } = await call(target, `POST /v1/generations/${id}/tokens`, { body });
  return status === 201 ? String(json["token"]) : undefined;
}
