import type { Logger } from "@reprise/runtime";
import { traceFields } from "@reprise/runtime/telemetry";
import type { FastifyReply, FastifyRequest } from "fastify";
import { streamOf } from "../connections/http2.ts";
import type { RequestNotes } from "./request-notes.ts";
import type { RequestTraces } from "./request-traces.ts";
import type { Authentication } from "../http/auth.ts";

/** `with-address` logs the client's address too. */
export type AccessLogMode = "off" | "on" | "with-address";

export interface AccessLogOptions {
  readonly logger: Logger;
  readonly authentication: Pick<Authentication, "nameOf">;
  readonly notes: Pick<RequestNotes, "of">;
  readonly traces: Pick<RequestTraces, "spanOf">;
  readonly withAddress: boolean;
}

/** Told of each request when it begins. */
export type AccessLog = (request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Logs a line for each request when its answer ends; for a stream, at its end. No line has text from the client: the route replaces the URL, which may hold a
 * token or an id, and headers and bodies are left out.
 */
export function createAccessLog(options: AccessLogOptions): AccessLog {
  const { logger, authentication, notes, traces, withAddress } = options;
  return (request, { raw: response }) => {
    const { method, clientAddress } = request;
    const { socket } = request.raw;
    const beganAtMs = performance.now();
    const bytesBefore = socket.bytesWritten;
    response.once("close", () => {
      const { firstByteMs, generation, model, code, resumed, events } = notes.of(request);
      const line = {
        request: request.id,
        method,
        route: request.routeOptions.url,
        status: response.headersSent ? response.statusCode : undefined,
        complete: response.writableFinished && !streamOf(response)?.rstCode,
        // Over HTTP/2 the connection's are those of all its streams.
        bytes: request.raw.httpVersionMajor === 1 ? socket.bytesWritten - bytesBefore : undefined,
        ms: Math.round(performance.now() - beganAtMs),
        first_byte_ms: firstByteMs === undefined ? undefined : Math.round(firstByteMs),
        ...authentication.nameOf(request),
        generation,
        model,
        code,
        resumed,
        events: events?.(),
        ...traceFields(traces.spanOf(request)),
        ...(withAddress && { address: clientAddress }),
      };
      logger.info(line, "request");
    });
  };
}
