import type { InjectOptions } from "fastify";
import { changeRequest, createRequest, eventsRequest, toAudioEntry } from "../calls/api-request.ts";
import type { AudioFrame, ClientFrame } from "./socket-frames.ts";

/** A frame that is a call of the HTTP API. */
export type CallFrame = Exclude<ClientFrame, { op: "auth" | "read" | "leave" }>;

/** Returns the HTTP request of a frame. */
export function toRequest(frame: CallFrame): InjectOptions {
  switch (frame.op) {
    case "create": {
      const { request, idempotency_key: idempotencyKey, follow } = frame;
      return createRequest(JSON.stringify(request ?? null), { idempotencyKey, follow });
    }
    case "follow":
      return eventsRequest(frame.generation, frame.after);
    case "input": {
      const { generation, first, entries } = frame;
      return changeRequest(generation, "input", { first, entries });
    }
    case "cancel": {
      const { generation, reason } = frame;
      return changeRequest(generation, "cancel", reason === undefined ? {} : { reason });
    }
    case "interrupt":
      return changeRequest(frame.generation, "interrupt", { heard: frame.heard });
    case "tool": {
      const { op: _op, id: _id, generation, ...result } = frame;
      return changeRequest(generation, "tool-results", result);
    }
  }
}

export function toInputFrame({ id, first, audio }: AudioFrame, generation: string): CallFrame {
  return { op: "input", id, generation, first, entries: [toAudioEntry(audio)] };
}
