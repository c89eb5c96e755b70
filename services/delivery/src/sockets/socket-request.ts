import type { AudioFrame, ClientFrame } from "@reprise/protocol";
import type { InjectOptions } from "fastify";

/** A frame that is a call of the HTTP API. */
export type CallFrame = Exclude<ClientFrame, { op: "auth" | "read" | "leave" }>;

/** Returns the HTTP request that a frame stands for. */
export function toRequest(frame: CallFrame, authorization: string): InjectOptions {
  switch (frame.op) {
    case "create": {
      const { request, idempotency_key: key, follow = false } = frame;
      const headers = {
        authorization,
        accept: follow ? "text/event-stream" : "application/json",
        ...(key !== undefined && { "idempotency-key": key }),
      };
      return post("/v1/generations", request, headers);
    }
    case "follow": {
      const { generation, after } = frame;
      const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
      const headers = { authorization, accept: "text/event-stream" };
      return { method: "GET", url: `${pathOf(generation)}/events${query}`, headers };
    }
    case "input": {
      const { generation, first, entries } = frame;
      return post(`${pathOf(generation)}/input`, { first, entries }, { authorization });
    }
    case "cancel": {
      const { generation, reason } = frame;
      return post(`${pathOf(generation)}/cancel`, reason === undefined ? {} : { reason }, { authorization });
    }
    case "tool": {
      const { op: _op, id: _id, generation, ...result } = frame;
      return post(`${pathOf(generation)}/tool-results`, result, { authorization });
    }
  }
}

export function toInputFrame({ id, first, audio }: AudioFrame, generation: string): CallFrame {
  const entry = { type: "input.audio", audio: Buffer.from(audio).toString("base64") };
  return { op: "input", id, generation, first, entries: [entry] };
}

function post(url: string, body: unknown, given: Readonly<Record<string, string>>): InjectOptions {
  const headers = { accept: "application/json", ...given, "content-type": "application/json" };
  return { method: "POST", url, headers, payload: JSON.stringify(body ?? null) };
}

function pathOf(generation: string): string {
  return `/v1/generations/${encodeURIComponent(generation)}`;
}
