import cors from "@fastify/cors";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { AdminContext } from "./admin/admin-call.ts";
import { addBodyParser } from "./bodies/body-parser.ts";
import { ARRIVAL_MS } from "./connections/request-bounds.ts";
import { setAnswerHeaders } from "./http/answer-headers.ts";
import type { CorsPolicy } from "./http/cors.ts";
import { ALLOWED_HEADERS, EXPOSED_HEADERS } from "./http/cors-headers.ts";
import { sendProblem } from "./http/problem.ts";
import { answerErrors, type ErrorPorts } from "./server/answer-errors.ts";
import { addAdminApi, addApiRoutes, type ApiPorts, type MoreRoutes } from "./server/api-routes.ts";
import { type AppOptions, createApp } from "./server/create-app.ts";
import {
  addAdmissionHooks,
  addAnswerHooks,
  type AdmissionPorts,
  type AnswerPorts,
} from "./server/request-hooks.ts";
import type { AccessLog } from "./telemetry/access-log.ts";
import type { RequestMetrics } from "./telemetry/request-metrics.ts";

/** Ports of the server and its routes. */
export type ServerPorts = ApiPorts &
  AdmissionPorts &
  AnswerPorts &
  ErrorPorts & { readonly requestMetrics: RequestMetrics };

export interface ServerOptions extends Pick<AppOptions, "trustedProxies" | "connections"> {
  ports: ServerPorts;
  moreRoutes: readonly MoreRoutes[];
  /** Undefined: there is no admin API. */
  admin: AdminContext | undefined;
  /** Which pages may read answers. */
  corsPolicy: CorsPolicy;
  /** Undefined: no line is logged for each request. */
  accessLog: AccessLog | undefined;
  /** The server speaks TLS with it; undefined: plain HTTP. */
  certificate?: AppOptions["certificate"];
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. Default 60 s, as in PROTOCOL.md. */
  arrivalMs?: number | undefined;
}

/** The HTTP server with all its routes, not listening yet. */
export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { ports, moreRoutes, admin, corsPolicy, accessLog, certificate, arrivalMs = ARRIVAL_MS } = options;
  const beginAnswer = (request: FastifyRequest, reply: FastifyReply) => {
    setAnswerHeaders(request, reply, { isTls: certificate !== undefined });
    ports.requestMetrics.begin(request, reply);
    accessLog?.(request, reply);
  };
  const app = createApp({
    ...options,
    certificate,
    arrivalMs,
    onRefused(request, reply, error) {
      beginAnswer(request, reply);
      ports.notes.add(request, { code: error.code });
      void sendProblem(reply, error);
    },
  });
  const parseBody = addBodyParser(app, ports.bodies);
  answerErrors(app, ports, arrivalMs);
  // Before CORS, which answers preflights itself.
  app.addHook("onRequest", async (request, reply) => beginAnswer(request, reply));
  await addCors(app, corsPolicy);
  // After CORS, so that pages can read a refusal.
  addAdmissionHooks(app, ports, corsPolicy);
  addAnswerHooks(app, ports);
  await addApiRoutes(app, ports, { parseBody, moreRoutes });
  if (admin) addAdminApi(app, admin);
  return app;
}

async function addCors(app: FastifyInstance, policy: CorsPolicy): Promise<void> {
  await app.register(cors, {
    // A function, since tenants may change: every answer has `Vary: Origin` then.
    origin: (origin, done) => done(null, policy.beforeTenant(origin) ?? []),
    methods: ["GET", "POST"],
    allowedHeaders: [...ALLOWED_HEADERS],
    exposedHeaders: [...EXPOSED_HEADERS],
    maxAge: 86_400,
    strictPreflight: false,
  });
}
