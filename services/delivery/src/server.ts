import { METHODS, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import cors from "@fastify/cors";
import { LIMITS, RepriseError } from "@reprise/protocol";
import { boundPipelining } from "@reprise/runtime";
import { traceFields } from "@reprise/runtime/telemetry";
import fastify, {
  type FastifyContextConfig,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from "fastify";
import type { AccessLog } from "./telemetry/access-log.ts";
import { setAnswerHeaders } from "./http/answer-headers.ts";
import { boundConnections, type ConnectionBounds } from "./connections/bound-connections.ts";
import type { AdminContext } from "./admin/admin-call.ts";
import { ADMIN_PATHS, addAdminRoutes } from "./admin/admin-routes.ts";
import { addClientAddress, TrustedProxies } from "./http/client-address.ts";
import { answerClientError, refuseConnect } from "./connections/client-error.ts";
import { DISCARD_MS, discardBody } from "./bodies/discard-body.ts";
import type { Certificate } from "./connections/certificate.ts";
import { decodeBody, parseJsonBody } from "./bodies/parse-json-body.ts";
import { closing, sendProblem, toProblem } from "./http/problem.ts";
import type { CorsPolicy } from "./http/cors.ts";
import { ALLOWED_HEADERS, EXPOSED_HEADERS } from "./http/cors-headers.ts";
import { takeQueryToken } from "./http/query-token.ts";
import { requestIdOf } from "./http/request-id.ts";
import { addBlobRoutes, BLOB_PATHS } from "./blobs/blob-routes.ts";
import { addConversationRoutes, CONVERSATION_PATHS } from "./conversations/conversation-routes.ts";
import { addMediaRoute, MEDIA_PATH } from "./blobs/media-route.ts";
import { addOutputBlobRoute, OUTPUT_BLOB_PATH } from "./blobs/output-blob-route.ts";
import { addUiChatRoutes, AI_SDK_PATHS } from "./routes/ai-sdk/chat-routes.ts";
import { addAnalyticsRoutes, ANALYTICS_PATHS } from "./routes/analytics/analytics.ts";
import { addAgUiRoutes, AG_UI_PATHS } from "./routes/agents/ag-ui.ts";
import { addTanstackRoutes, TANSTACK_PATHS } from "./routes/agents/tanstack.ts";
import { addAuditRoutes } from "./routes/audit.ts";
import { drainingError } from "./readers/begin-stream.ts";
import { addEventRoutes } from "./routes/events.ts";
import { addGenerationRoutes } from "./routes/generations.ts";
import { addModelRoutes, MODEL_PATHS } from "./routes/models.ts";
import { addChatRoute, CHAT_PATHS } from "./routes/openai/chat-completions.ts";
import { addResponseRoutes, RESPONSE_PATHS } from "./routes/openai/responses/response-routes.ts";
import { addReviewRoutes } from "./routes/reviews.ts";
import { addTimingsRoute } from "./routes/analytics/timings.ts";
import { addTokenRoutes } from "./routes/tokens.ts";

type PortsOf<Add extends (app: FastifyInstance, ports: never) => void> = Parameters<Add>[1];

/** Ports of the server and its routes; each feature's routes take a few of these. */
export type ServerPorts = PortsOf<typeof addGenerationRoutes> &
  PortsOf<typeof addModelRoutes> &
  PortsOf<typeof addChatRoute> &
  PortsOf<typeof addResponseRoutes> &
  PortsOf<typeof addEventRoutes> &
  PortsOf<typeof addReviewRoutes> &
  PortsOf<typeof addAnalyticsRoutes> &
  PortsOf<typeof addAuditRoutes> &
  PortsOf<typeof addTimingsRoute> &
  PortsOf<typeof addTokenRoutes> &
  PortsOf<typeof addBlobRoutes> &
  PortsOf<typeof addMediaRoute> &
  PortsOf<typeof addOutputBlobRoute> &
  PortsOf<typeof addConversationRoutes> &
  PortsOf<typeof addTanstackRoutes> &
  PortsOf<typeof addAgUiRoutes> &
  PortsOf<typeof addUiChatRoutes>;

export interface ServerOptions {
  ports: ServerPorts;
  /** Undefined: there is no admin API. */
  admin: AdminContext | undefined;
  /** Which pages may read answers. */
  corsPolicy: CorsPolicy;
  /** Addresses and ranges of the proxies whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[];
  /** Undefined: no line is logged for each request. */
  accessLog: AccessLog | undefined;
  connections: ConnectionBounds;
  /** The server speaks TLS with it; undefined: plain HTTP. */
  certificate?: Certificate | undefined;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. Default 60 s, as in PROTOCOL.md. */
  arrivalMs?: number | undefined;
}

export const MAX_HEADER_BYTES = 16 * 1_024;
/** Characters of a path that an answer quotes at most. */
const MAX_QUOTED = 256;
export const ARRIVAL_MS = 60_000;
/** Milliseconds between two checks of the connections, at most. */
const MAX_SWEEP_MS = 1_000;

/** The HTTP server with all its routes, not listening yet. */
export async function buildServer({
  ports,
  admin,
  corsPolicy,
  trustedProxies,
  accessLog,
  connections,
  certificate,
  arrivalMs = ARRIVAL_MS,
}: ServerOptions): Promise<FastifyInstance> {
  const proxies = new TrustedProxies(trustedProxies);
  const beginAnswer = (request: FastifyRequest, reply: FastifyReply) => {
    setAnswerHeaders(request, reply, { isTls: certificate !== undefined });
    ports.requestMetrics.begin(request, reply);
    accessLog?.(request, reply);
  };
  const bounds = {
    maxHeaderSize: MAX_HEADER_BYTES,
    // Node's own refusal has no body.
    requireHostHeader: false,
    headersTimeout: arrivalMs,
    connectionsCheckingInterval: Math.min(MAX_SWEEP_MS, arrivalMs),
  };
  // Streams outlive the request's: it ends with the last byte of the request.
  const timeouts = { requestTimeout: arrivalMs, keepAliveTimeout: arrivalMs };
  const app = fastify({
    bodyLimit: LIMITS.bodyBytes,
    logger: false,
    ...timeouts,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    // An event stream without a body would only never end.
    exposeHeadRoutes: false,
    // Ids of any length reach the routes, which know what to answer; the HTTP parser bounds the URL.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    http: bounds,
    ...(certificate && {
      serverFactory: (listener: RequestListener) => {
        const settings = { ...bounds, ...timeouts, ...certificate, handshakeTimeout: arrivalMs };
        return createTlsServer({ ...settings, ALPNProtocols: ["h2", "http/1.1"] }, listener);
      },
    }),
    clientErrorHandler: answerClientError,
    rewriteUrl: takeQueryToken,
    genReqId: (request) => requestIdOf(request, proxies),
    frameworkErrors(thrown, request, reply) {
      beginAnswer(request, reply);
      const error = toProblem(thrown);
      ports.notes.add(request, { code: error.code });
      void sendProblem(reply, error);
    },
  });
  addClientAddress(app, proxies);
  boundConnections(app.server, connections);
  boundPipelining(app.server);
  app.server.on("connect", refuseConnect);
  // Node would ask every client for its body; here one is asked that may send it.
  app.server.on("checkContinue", (request, response) => app.server.emit("request", request, response));
  // Node would answer all others by a status without a body.
  app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
  // A path that has a route with another method is answered 405 for every method.
  for (const method of METHODS.filter((name) => !app.supportedMethods.includes(name)))
    app.addHttpMethod(method);
  app.removeContentTypeParser("text/plain");
  // Some clients name a type whether they send a body or not. Calls that need one refuse its absence by themselves.
  const parseBody = (
    request: FastifyRequest,
    body: Buffer,
    done: (error: Error | null, value?: unknown) => void,
  ) => {
    if (body.length === 0) return done(null);
    const turn = ports.bodies.turn(request.raw, body.length);
    const parse = (answer: typeof done) => {
      let value: unknown;
      try {
        value = parseJsonBody(decodeBody(body));
      } catch (error) {
        return answer(error as Error);
      }
      answer(null, value);
    };
    if (!turn) return parse(done);
    // The work for a large body, before and after parsing, is spread over turns of the event loop.
    const parsed: typeof done = (error, value) => void setImmediate(done, error, value);
    const begin = (isDue: boolean) => (isDue ? parse(parsed) : done(clientHasLeft()));
    turn.then(begin, done);
  };
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parseBody);

  app.setErrorHandler(async (thrown, request, reply) => {
    const error = await countRefused([request, reply], toProblem(thrown, request));
    ports.notes.add(request, { code: error.code });
    const hasLeft = request.raw.destroyed && !request.raw.complete;
    if (hasLeft) ports.logger.debug({ request: request.id }, "a client left before its request was whole");
    else if (error.code === "internal")
      ports.logger.error(
        { err: error.cause, request: request.id, ...traceFields(ports.traces.spanOf(request)) },
        "a request failed",
      );
    await sendProblem(reply, error, discardBody(request.raw, Math.min(DISCARD_MS, arrivalMs)));
  });
  /** A call that was refused before its route could count it counts all the same. */
  const countRefused = async (call: readonly [FastifyRequest, FastifyReply], error: RepriseError) => {
    const [request] = call;
    const principal = ports.authentication.findPrincipal(request);
    if (!principal || ports.limits.isCounted(request)) return error;
    return ports.limits.count(call, principal).then(() => error, toProblem);
  };
  app.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  // Before CORS, which answers preflights itself.
  app.addHook("onRequest", async (request, reply) => beginAnswer(request, reply));
  await app.register(cors, {
    // A function, since tenants may change: every answer has `Vary: Origin` then.
    origin: (origin, done) => done(null, corsPolicy.beforeTenant(origin) ?? []),
    methods: ["GET", "POST"],
    allowedHeaders: [...ALLOWED_HEADERS],
    exposedHeaders: [...EXPOSED_HEADERS],
    maxAge: 86_400,
    strictPreflight: false,
  });
  // After CORS, so that pages can read a refusal; before a byte of the body is read.
  app.addHook("onRequest", async (request, reply) => {
    if (ports.draining.aborted && request.url.startsWith("/v1/")) throw drainingError();
    await ports.authentication.identify(request);
    ports.traces.begin(request, reply);
    const principal = ports.authentication.findPrincipal(request);
    if (principal) corsPolicy.allow(reply, principal.tenant, request.headers.origin);
    ports.authentication.authorise(request);
    if (request.is404) throw notFound(request);
    assertPlainRequest(request);
    if (principal && !request.routeOptions.config.countsItself)
      await ports.limits.count([request, reply], principal);
  });
  app.addHook("preParsing", async (request, { raw }) => {
    const principal = ports.authentication.findPrincipal(request);
    if (principal && !request.routeOptions.config.streamsBody)
      ports.bodies.admit(request.raw, raw, principal.tenant);
    if (request.headers.expect !== undefined) raw.writeContinue();
  });
  app.addHook("preHandler", async (request) => ports.authentication.readmit(request));
  app.addHook("onSend", async (request, reply) => {
    ports.notes.add(request, { firstByteMs: ports.requestMetrics.elapsedMs(request) });
    ports.requestMetrics.answered(request, reply.statusCode);
    ports.traces.answered(request);
    if (ports.draining.aborted) void reply.headers(closing(request));
  });

  addGenerationRoutes(app, ports);
  addModelRoutes(app, ports);
  addChatRoute(app, ports);
  addResponseRoutes(app, ports);
  addEventRoutes(app, ports);
  addReviewRoutes(app, ports);
  addAnalyticsRoutes(app, ports);
  addAuditRoutes(app, ports);
  addTimingsRoute(app, ports);
  addTokenRoutes(app, ports);
  addBlobRoutes(app, ports);
  addConversationRoutes(app, ports);
  addTanstackRoutes(app, ports);
  addAgUiRoutes(app, ports);
  addMediaRoute(app, ports);
  addOutputBlobRoute(app, ports);
  // `WorkflowChatTransport` names no type for its body, and browsers call it text then.
  await app.register(async (scope) => {
    scope.addContentTypeParser("text/plain", { parseAs: "buffer" }, parseBody);
    addUiChatRoutes(scope, ports);
  });
  if (admin) {
    addAdminRoutes(app, admin);
    for (const [path, methods] of Object.entries(ADMIN_PATHS))
      refuseOtherMethods(app, path, methods, { administers: true });
  }
  for (const [path, methods] of Object.entries({
    ...BLOB_PATHS,
    ...CONVERSATION_PATHS,
    ...TANSTACK_PATHS,
    ...AG_UI_PATHS,
    ...AI_SDK_PATHS,
    ...CHAT_PATHS,
    ...MODEL_PATHS,
    ...RESPONSE_PATHS,
  }))
    refuseOtherMethods(app, path, methods);
  for (const path of [MEDIA_PATH, OUTPUT_BLOB_PATH]) refuseOtherMethods(app, path, ["GET"]);
  refuseOtherMethods(app, "/v1/generations", ["POST"]);
  refuseOtherMethods(app, "/v1/generations/:id", ["GET"]);
  refuseOtherMethods(app, "/v1/generations/:id/events", ["GET"]);
  refuseOtherMethods(app, "/v1/generations/:id/cancel", ["POST"]);
  refuseOtherMethods(app, "/v1/generations/:id/tool-results", ["POST"]);
  refuseOtherMethods(app, "/v1/generations/:id/moderation", ["GET"]);
  refuseOtherMethods(app, "/v1/generations/:id/timings", ["POST"]);
  refuseOtherMethods(app, "/v1/generations/:id/tokens", ["POST"]);
  refuseOtherMethods(app, "/v1/tokens", ["POST"]);
  refuseOtherMethods(app, "/v1/reviews", ["GET"]);
  refuseOtherMethods(app, "/v1/reviews/:id", ["POST"]);
  refuseOtherMethods(app, "/v1/audit/generations", ["GET"]);
  refuseOtherMethods(app, "/v1/audit/generations/:id", ["GET"]);
  for (const path of Object.values(ANALYTICS_PATHS))
    refuseOtherMethods(app, path, ["GET"], { operators: true });
  return app;
}

/** A browser's preflight has a route of its own. */
const PREFLIGHT = "OPTIONS";

function refuseOtherMethods(
  app: FastifyInstance,
  url: string,
  allowed: readonly string[],
  config: FastifyContextConfig = {},
): void {
  const isOther = (method: string) => !allowed.includes(method) && method !== PREFLIGHT;
  const refuse = (reply: FastifyReply) => {
    void reply.header("allow", allowed.join(", "));
    throw new RepriseError("method_not_allowed", `This path takes ${allowed.join(", ")}.`);
  };
  app.route({
    method: app.supportedMethods.filter(isOther),
    url,
    config: { ...config, streamTokens: true },
    onRequest: async (_request, reply) => refuse(reply),
    handler: (_request, reply) => refuse(reply),
  });
}

function clientHasLeft(): RepriseError {
  return new RepriseError("connection_lost", "The client left before its request had its turn.");
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

function notFound({ url }: FastifyRequest): RepriseError {
  const [path = ""] = url.split("?", 1);
  return new RepriseError("not_found", `There is no ${path.slice(0, MAX_QUOTED)}.`);
}
