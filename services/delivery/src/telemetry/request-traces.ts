import { unixNow } from "@reprise/protocol";
import {
  formatTraceparent,
  HTTP,
  NO_SPAN,
  parseTraceparent,
  REPRISE,
  type SpanOptions,
  type TraceContext,
  type Tracing,
  type TraceSpan,
} from "@reprise/runtime/telemetry";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Authentication } from "../http/auth.ts";
import type { RequestMetrics } from "./request-metrics.ts";
import type { RequestNotes } from "./request-notes.ts";

export interface RequestTracesOptions {
  readonly tracing: Tracing;
  readonly authentication: Pick<Authentication, "findPrincipal">;
  readonly notes: RequestNotes;
  readonly metrics: Pick<RequestMetrics, "elapsedMs">;
}

const PREFLIGHT = "OPTIONS";
const FAILED = 500;

/** A span for each request of a known caller, from its arrival to the end of its answer, a stream's included. */
export class RequestTraces {
  readonly #options: RequestTracesOptions;
  readonly #spans = new WeakMap<FastifyRequest, TraceSpan>();

  constructor(options: RequestTracesOptions) {
    this.#options = options;
  }

  /** Called once the caller is known: what strangers send makes no span. */
  begin(request: FastifyRequest, reply: FastifyReply): void {
    const { tracing, authentication, metrics } = this.#options;
    const { method } = request;
    if (!tracing.isOn || method === PREFLIGHT) return;
    const route = request.routeOptions.url;
    const principal = authentication.findPrincipal(request);
    const span = tracing.start(route === undefined ? method : `${method} ${route}`, {
      kind: "server",
      ...relationTo(clientContext(request), { isToken: principal?.tokenId !== undefined }),
      startedAtMs: unixNow() - metrics.elapsedMs(request),
      attributes: {
        [HTTP.method]: method,
        [HTTP.route]: route,
        [REPRISE.request]: request.id,
        [REPRISE.tenant]: principal?.tenant,
      },
    });
    this.#spans.set(request, span);
    reply.raw.once("close", () => this.#end(request, reply, span));
  }

  spanOf(request: FastifyRequest): TraceSpan {
    return this.#spans.get(request) ?? NO_SPAN;
  }

  /**
   * Returns the trace context for seq 0 of a generation that the request creates: the request's span, or without one the client's context, whose flag is not
   * passed on.
   */
  traceparentOf(request: FastifyRequest): string | undefined {
    const client = clientContext(request);
    const context = this.spanOf(request).context ?? (client && { ...client, sampled: false });
    return context && formatTraceparent(context);
  }

  /** Called when the head of an answer that is no stream leaves. A long-poll says nothing of how long that took: it waits for as long as it was asked to. */
  answered(request: FastifyRequest): void {
    const { query } = request;
    const isLongPoll = typeof query === "object" && query !== null && "wait" in query;
    if (isLongPoll) return;
    this.spanOf(request).set({ [REPRISE.answerMs]: Math.round(this.#options.metrics.elapsedMs(request)) });
  }

  #end(request: FastifyRequest, { raw: response }: FastifyReply, span: TraceSpan): void {
    const { code, generation, model } = this.#options.notes.of(request);
    const status = response.headersSent ? response.statusCode : undefined;
    span.set({ [HTTP.status]: status, [REPRISE.generation]: generation, [REPRISE.model]: model });
    if (status !== undefined && status >= FAILED) span.fail(code ?? `${status}`);
    else if (code !== undefined) span.set({ [HTTP.errorType]: code });
    span.end();
  }
}

/** Holders of API keys have their requests in their own traces. End users, who have tokens, may not write into a trace that they name. */
function relationTo(client: TraceContext | undefined, { isToken }: { isToken: boolean }): SpanOptions {
  if (!client) return {};
  return isToken ? { links: [client] } : { parent: client };
}

function clientContext({ headers }: FastifyRequest): TraceContext | undefined {
  const { traceparent } = headers;
  return typeof traceparent === "string" ? parseTraceparent(traceparent) : undefined;
}
