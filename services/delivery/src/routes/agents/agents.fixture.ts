import { parseGenerationId, parseTenantId } from "@reprise/protocol";
import { openSseReader, type SseReader } from "@reprise/testkit";
import { authorization, call, KEYS, openWorker, type Platform } from "../../testing/platform.ts";

export const TANSTACK = "/v1/tanstack/chat";
export const AG_UI = "/v1/ag-ui/agent";

/** A run's input, as both protocols' clients send it. */
export const INPUT = {
  threadId: "t1",
  runId: "r1",
  state: {},
  messages: [{ id: "u1", role: "user", content: "hello" }],
  tools: [],
  context: [],
  forwardedProps: { model: "sim" },
};

export interface RunOptions {
  /** Fields in the place of those of `INPUT`. */
  readonly body?: object;
  readonly lastEventId?: string | undefined;
  readonly key?: string;
}

/** A run by its `POST`. */
export function openRun(
  { url }: { url: string },
  path: string,
  { body, lastEventId, key = KEYS.acme }: RunOptions = {},
): Promise<SseReader> {
  return openSseReader(`${url}${path}`, {
    method: "POST",
    headers: authorization(key),
    body: { ...INPUT, ...body },
    lastEventId,
  });
}

/** A run by its `GET`. */
export function readRun(
  { url }: { url: string },
  pathAndQuery: string,
  lastEventId?: string,
): Promise<SseReader> {
  return openSseReader(`${url}${pathAndQuery}`, { headers: authorization(), lastEventId });
}

/** A `POST` that is refused. */
export function refusedRun(
  { url }: { url: string },
  path: string,
  { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
) {
  return call(`${url}${path}`, { body: { ...INPUT, ...body }, headers });
}

/** The worker of the generation that an answer has created. */
export async function workOn({ log }: Platform, reader: SseReader) {
  const ref = {
    tenant: parseTenantId("acme"),
    generation: parseGenerationId(reader.headers["reprise-generation-id"]),
  };
  return { ref, worker: await openWorker(log, ref) };
}

interface AgUiEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export function eventsOf({ frames }: Pick<SseReader, "frames">): AgUiEvent[] {
  return frames.map(({ data }) => JSON.parse(data) as AgUiEvent);
}

export function textOf(reader: Pick<SseReader, "frames">): string {
  return eventsOf(reader)
    .map(({ type, delta }) => (type === "TEXT_MESSAGE_CONTENT" ? String(delta) : ""))
    .join("");
}
