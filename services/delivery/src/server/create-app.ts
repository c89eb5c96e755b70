import { METHODS, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { LIMITS, type RepriseError } from "@reprise/protocol";
import { boundPipelining } from "@reprise/runtime";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { boundConnections, type ConnectionBounds } from "../connections/bound-connections.ts";
import type { Certificate } from "../connections/certificate.ts";
import { answerClientError, refuseConnect } from "../connections/client-error.ts";
import { headerBounds, MAX_HEADER_BYTES } from "../connections/request-bounds.ts";
import { addClientAddress, TrustedProxies } from "../http/client-address.ts";
import { toProblem } from "../http/problem.ts";
import { takeQueryToken } from "../http/query-token.ts";
import { requestIdOf } from "../http/request-id.ts";
import { isSocketUpgrade } from "../sockets/socket-route.ts";

export interface AppOptions {
  /** Addresses and ranges of the proxies whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[];
  connections: ConnectionBounds;
  /** The server speaks TLS with it; undefined: plain HTTP. */
  certificate: Certificate | undefined;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. */
  arrivalMs: number;
  /** Answers a request that Fastify refuses before any hook runs. */
  onRefused: (request: FastifyRequest, reply: FastifyReply, error: RepriseError) => void;
}

/** Creates Fastify without hooks and routes, over a server with bounds on its connections. */
export function createApp(options: AppOptions): FastifyInstance {
  const { trustedProxies, connections, certificate, arrivalMs, onRefused } = options;
  const proxies = new TrustedProxies(trustedProxies);
  const bounds = { ...headerBounds(arrivalMs), shouldUpgradeCallback: isSocketUpgrade };
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
    frameworkErrors: (thrown, request, reply) => onRefused(request, reply, toProblem(thrown)),
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
  return app;
}
