import cors from "@fastify/cors";
import { LIMITS, RepriseError } from "@reprise/protocol";
import type { OpsHandler } from "@reprise/service";
import fastify, { type FastifyInstance, type HTTPMethods } from "fastify";
import { answerClientError } from "./client-error.ts";
import { sendProblem, toProblem } from "./problem.ts";
import { addAuditRoutes } from "./routes/audit.ts";
import { drainingError } from "./routes/begin-stream.ts";
import type { RouteContext } from "./routes/context.ts";
import { addEventRoutes } from "./routes/events.ts";
import { addGenerationRoutes, GENERATION_ID_HEADER } from "./routes/generations.ts";
import { addOpsRoutes } from "./routes/ops.ts";
import { addReviewRoutes } from "./routes/reviews.ts";

export interface ServerOptions {
  context: RouteContext;
  ops: OpsHandler;
  /** Origins whose pages may call the API; `*` for any. */
  corsOrigins: readonly string[];
}

const MAX_HEADER_BYTES = 16 * 1_024;

const ALLOWED_HEADERS = [
  "Authorization",
  "Content-Type",
  "Idempotency-Key",
  "Last-Event-ID",
  "Cache-Control",
  "X-Requested-With",
  "traceparent",
];

/** The HTTP server with all its routes, not listening yet. */
export async function buildServer({ context, ops, corsOrigins }: ServerOptions): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: LIMITS.bodyBytes,
    logger: false,
    // The streams outlive any request timeout; a client gets 60 s to send its request.
    requestTimeout: 60_000,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // A load balancer may ask for /healthz with HEAD; an event stream without a body would only never end.
    exposeHeadRoutes: false,
    // Ids of any length reach the routes, which know what to answer; the HTTP parser bounds the URL.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    clientErrorHandler: answerClientError,
    frameworkErrors: (thrown, _request, reply) => void sendProblem(reply, toProblem(thrown)),
  });
  app.removeContentTypeParser("text/plain");
  // Some clients name a type whether they send a body or not. Calls that need one refuse its absence by themselves.
  const parseJson = app.getDefaultJsonParser("error", "error");
  app.addContentTypeParser("application/json", { parseAs: "string" }, (request, body: string, done) =>
    body === "" ? done(null) : parseJson(request, body, done),
  );

  app.setErrorHandler(async (thrown, request, reply) => {
    const error = toProblem(thrown);
    if (error.code === "internal")
      context.logger.error({ err: error.cause, request: request.id }, "a request failed");
    await sendProblem(reply, error);
  });
  app.setNotFoundHandler((request) => {
    throw new RepriseError("not_found", `There is no ${request.url.split("?", 1)[0]}.`);
  });
  await app.register(cors, {
    origin: corsOrigins.includes("*") ? "*" : [...corsOrigins],
    methods: ["GET", "POST"],
    allowedHeaders: ALLOWED_HEADERS,
    exposedHeaders: [GENERATION_ID_HEADER, "Location", "Retry-After"],
    maxAge: 86_400,
    strictPreflight: false,
  });
  // After CORS, so that pages can read the refusal.
  app.addHook("onRequest", async (request) => {
    if (context.draining.aborted && request.url.startsWith("/v1/")) throw drainingError();
  });
  app.addHook("onSend", async (_request, reply) => {
    if (context.draining.aborted) void reply.header("connection", "close");
  });

  addGenerationRoutes(app, context);
  addEventRoutes(app, context);
  addReviewRoutes(app, context);
  addAuditRoutes(app, context);
  addOpsRoutes(app, ops);
  refuseOtherMethods(app, "/v1/generations", "POST");
  refuseOtherMethods(app, "/v1/generations/:id", "GET");
  refuseOtherMethods(app, "/v1/generations/:id/events", "GET");
  refuseOtherMethods(app, "/v1/generations/:id/cancel", "POST");
  refuseOtherMethods(app, "/v1/generations/:id/tool-results", "POST");
  refuseOtherMethods(app, "/v1/generations/:id/moderation", "GET");
  refuseOtherMethods(app, "/v1/reviews", "GET");
  refuseOtherMethods(app, "/v1/reviews/:id", "POST");
  refuseOtherMethods(app, "/v1/audit/generations", "GET");
  refuseOtherMethods(app, "/v1/audit/generations/:id", "GET");
  return app;
}

const METHODS: readonly HTTPMethods[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

function refuseOtherMethods(app: FastifyInstance, url: string, allowed: "GET" | "POST"): void {
  app.route({
    method: METHODS.filter((method) => method !== allowed),
    url,
    handler: (_request, reply) => {
      void reply.header("allow", allowed);
      throw new RepriseError("method_not_allowed", `Only ${allowed} is allowed here.`);
    },
  });
}
