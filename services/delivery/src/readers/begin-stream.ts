import { encodeSseRetry, type GenerationRef, RepriseError, SSE_RECONNECT_MS } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import { traceFields, type TraceSpan } from "@reprise/runtime/telemetry";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../connections/http2.ts";
import { openHttp2Socket } from "./streams/http2-socket.ts";
import { openSseSocket, type SseSocket } from "./streams/sse-socket.ts";

/**
 * Begins an answer that is a stream: from here on nothing but the stream itself can say what goes wrong.
 * @returns undefined where the client has left meanwhile: no event will say so again
 * @throws RepriseError `draining`, while it can still be an answer
 */
export function beginStream(
  reply: FastifyReply,
  { status, draining }: { status: number; draining: AbortSignal },
): SseSocket | undefined {
  if (draining.aborted) throw drainingError();
  void reply.hijack();
  if (hasLeft(reply.raw)) return undefined;
  const headers = plainHeaders(reply);
  const socket = openHttp2Socket(reply.raw, status, headers) ?? openSseSocket(reply.raw, status, headers);
  socket.writeText(encodeSseRetry(SSE_RECONNECT_MS));
  return socket;
}

interface BrokenStream {
  /** The id of the request that asked for it. */
  readonly request: string;
  /** Span of that request. */
  readonly span: TraceSpan;
  readonly ref: GenerationRef;
  readonly error: RepriseError;
}

export function logBrokenStream(logger: Logger, { request, span, ref, error }: BrokenStream): void {
  const told = {
    request,
    generation: ref.generation,
    code: error.code,
    err: error.cause,
    ...traceFields(span),
  };
  // As often as its client likes: nothing is wrong with the node.
  if (error.code === "unauthenticated") logger.debug(told, "a stream was broken off");
  else logger.warn(told, "a stream was broken off");
}

export function drainingError(): RepriseError {
  return new RepriseError("draining", "This node is shutting down; try again.", { retryAfterMs: 1_000 });
}

function plainHeaders(reply: FastifyReply): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) headers[name] = String(value);
  return headers;
}
