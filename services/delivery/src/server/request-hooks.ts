import { RepriseError } from "@reprise/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { RequestBodies } from "../bodies/request-bodies.ts";
import type { Authentication } from "../http/auth.ts";
import type { CorsPolicy } from "../http/cors.ts";
import { closing } from "../http/problem.ts";
import type { RequestLimits } from "../limits/request-limits.ts";
import { drainingError } from "../readers/begin-stream.ts";
import type { RequestMetrics } from "../telemetry/request-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestTraces } from "../telemetry/request-traces.ts";
import { notFound } from "./answer-errors.ts";

export interface AdmissionPorts {
  readonly authentication: Pick<Authentication, "identify" | "findPrincipal" | "authorise" | "readmit">;
  readonly limits: Pick<RequestLimits, "count" | "assertNotUsedUp">;
  readonly bodies: Pick<RequestBodies, "admit">;
  readonly traces: Pick<RequestTraces, "begin">;
  readonly draining: AbortSignal;
}

/**
 * Admits a request in the order of its arrival: its caller at the headers, its body before a byte of it is read, and its caller again once the
 * body is there.
 */
export function addAdmissionHooks(
  app: FastifyInstance,
  { authentication, limits, bodies, traces, draining }: AdmissionPorts,
  corsPolicy: Pick<CorsPolicy, "allow">,
): void {
  app.addHook("onRequest", async (request, reply) => {
    if (draining.aborted && request.url.startsWith("/v1/")) throw drainingError();
    await authentication.identify(request);
    traces.begin(request, reply);
    const principal = authentication.findPrincipal(request);
    if (principal) corsPolicy.allow(reply, principal.tenant, request.headers.origin);
    authentication.authorise(request);
    if (request.is404) throw notFound(request);
    assertPlainRequest(request);
    if (!principal) return;
    const { callsItself, countsItself } = request.routeOptions.config;
    if (callsItself || countsItself) limits.assertNotUsedUp(request, principal);
    else await limits.count([request, reply], principal);
  });
  app.addHook("preParsing", async (request, { raw }) => {
    const principal = authentication.findPrincipal(request);
    if (principal && !request.routeOptions.config.streamsBody)
      bodies.admit(request.raw, raw, principal.tenant);
    if (request.headers.expect !== undefined) raw.writeContinue();
  });
  app.addHook("preHandler", async (request) => authentication.readmit(request));
}

export interface AnswerPorts {
  readonly notes: Pick<RequestNotes, "add">;
  readonly requestMetrics: Pick<RequestMetrics, "elapsedMs" | "answered">;
  readonly traces: Pick<RequestTraces, "answered">;
  readonly draining: AbortSignal;
}

/** Records an answer when its headers are sent. A draining server has its client close the connection. */
export function addAnswerHooks(
  app: FastifyInstance,
  { notes, requestMetrics, traces, draining }: AnswerPorts,
): void {
  app.addHook("onSend", async (request, reply) => {
    notes.add(request, { firstByteMs: requestMetrics.elapsedMs(request) });
    requestMetrics.answered(request, reply.statusCode);
    traces.answered(request);
    if (draining.aborted) void reply.headers(closing(request));
  });
}

/** Refuses requests that HTTP tells a server to refuse, but that Node and Fastify accept or drop without an answer. */
function assertPlainRequest({ headers, raw }: FastifyRequest): void {
  const { host, expect, "content-encoding": encoding, "transfer-encoding": coding = "chunked" } = headers;
  if (raw.httpVersion === "1.1" && host === undefined)
    throw new RepriseError("invalid_request", "A request needs the header Host.", { param: "Host" });
  if (expect !== undefined && expect.toLowerCase() !== "100-continue")
    throw new RepriseError("invalid_request", "Expect: only 100-continue is known here.", {
      param: "Expect",
    });
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") throw compressed("Content-Encoding");
  if (coding.toLowerCase() !== "chunked") throw compressed("Transfer-Encoding");
}

function compressed(param: string): RepriseError {
  return new RepriseError("unsupported_media_type", "A body must not be compressed.", { param });
}
