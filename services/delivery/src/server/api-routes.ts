import { RepriseError } from "@reprise/protocol";
import type { FastifyBodyParser, FastifyContextConfig, FastifyInstance, FastifyReply } from "fastify";
import type { AdminContext } from "../admin/admin-call.ts";
import { ADMIN_PATHS, addAdminRoutes } from "../admin/admin-routes.ts";
import { addInputRoutes, INPUT_PATHS } from "../input/input-routes.ts";
import { addAgUiRoutes, AG_UI_PATHS } from "../routes/agents/ag-ui.ts";
import { addTanstackRoutes, TANSTACK_PATHS } from "../routes/agents/tanstack.ts";
import { addUiChatRoutes, AI_SDK_PATHS } from "../routes/ai-sdk/chat-routes.ts";
import { addAnalyticsRoutes, ANALYTICS_PATHS } from "../routes/analytics/analytics.ts";
import { addTimingsRoute } from "../routes/analytics/timings.ts";
import { addAuditRoutes } from "../routes/audit.ts";
import { addEventRoutes } from "../routes/events.ts";
import { addGenerationRoutes } from "../routes/generations.ts";
import { addModelRoutes, MODEL_PATHS } from "../routes/models.ts";
import { addChatRoute, CHAT_PATHS } from "../routes/openai/chat-completions.ts";
import { addResponseRoutes, RESPONSE_PATHS } from "../routes/openai/responses/response-routes.ts";
import { addProducerRoutes, PRODUCER_PATHS } from "../producers/producer-routes.ts";
import { addReviewRoutes } from "../routes/reviews.ts";
import { addTokenRoutes } from "../routes/tokens.ts";
import { addRpcRoutes, RPC_PATHS } from "../rpc/rpc-routes.ts";
import { addSocketRoute, SOCKET_PATHS } from "../sockets/socket-route.ts";

type PortsOf<Add extends (app: FastifyInstance, ports: never) => unknown> = Parameters<Add>[1];

type Paths = Readonly<Record<string, readonly string[]>>;

/** Routes of an extension. */
export interface MoreRoutes {
  /** Methods that each path takes. */
  readonly paths: Paths;
  readonly add: (app: FastifyInstance) => void;
}

export interface ApiOptions {
  /** Parses JSON under any type. */
  readonly parseBody: FastifyBodyParser<Buffer>;
  readonly moreRoutes: readonly MoreRoutes[];
}

/** Ports of all routes; each feature's routes take a few of these. */
export type ApiPorts = PortsOf<typeof addGenerationRoutes> &
  PortsOf<typeof addInputRoutes> &
  PortsOf<typeof addProducerRoutes> &
  PortsOf<typeof addRpcRoutes> &
  PortsOf<typeof addSocketRoute> &
  PortsOf<typeof addModelRoutes> &
  PortsOf<typeof addChatRoute> &
  PortsOf<typeof addResponseRoutes> &
  PortsOf<typeof addEventRoutes> &
  PortsOf<typeof addReviewRoutes> &
  PortsOf<typeof addAnalyticsRoutes> &
  PortsOf<typeof addAuditRoutes> &
  PortsOf<typeof addTimingsRoute> &
  PortsOf<typeof addTokenRoutes> &
  PortsOf<typeof addTanstackRoutes> &
  PortsOf<typeof addAgUiRoutes> &
  PortsOf<typeof addUiChatRoutes>;

/** Methods that each path takes, besides those of the admin API and of analytics. */
const PATHS: Paths = {
  ...TANSTACK_PATHS,
  ...AG_UI_PATHS,
  ...AI_SDK_PATHS,
  ...CHAT_PATHS,
  ...INPUT_PATHS,
  ...MODEL_PATHS,
  ...PRODUCER_PATHS,
  ...RPC_PATHS,
  ...SOCKET_PATHS,
  ...RESPONSE_PATHS,
  "/v1/generations": ["POST"],
  "/v1/generations/:id": ["GET"],
  "/v1/generations/:id/events": ["GET"],
  "/v1/generations/:id/cancel": ["POST"],
  "/v1/generations/:id/interrupt": ["POST"],
  "/v1/generations/:id/tool-results": ["POST"],
  "/v1/generations/:id/moderation": ["GET"],
  "/v1/generations/:id/timings": ["POST"],
  "/v1/generations/:id/tokens": ["POST"],
  "/v1/tokens": ["POST"],
  "/v1/reviews": ["GET"],
  "/v1/reviews/:id": ["POST"],
  "/v1/audit/generations": ["GET"],
  "/v1/audit/generations/:id": ["GET"],
};

export async function addApiRoutes(
  app: FastifyInstance,
  ports: ApiPorts,
  { parseBody, moreRoutes }: ApiOptions,
): Promise<void> {
  addGenerationRoutes(app, ports);
  addInputRoutes(app, ports);
  addProducerRoutes(app, ports);
  addRpcRoutes(app, ports);
  await addSocketRoute(app, ports);
  addModelRoutes(app, ports);
  addChatRoute(app, ports);
  addResponseRoutes(app, ports);
  addEventRoutes(app, ports);
  addReviewRoutes(app, ports);
  addAnalyticsRoutes(app, ports);
  addAuditRoutes(app, ports);
  addTimingsRoute(app, ports);
  addTokenRoutes(app, ports);
  addTanstackRoutes(app, ports);
  addAgUiRoutes(app, ports);
  // `WorkflowChatTransport` names no type for its body, and browsers call it text then.
  await app.register(async (scope) => {
    scope.addContentTypeParser("text/plain", { parseAs: "buffer" }, parseBody);
    addUiChatRoutes(scope, ports);
  });
  for (const { add } of moreRoutes) add(app);
  for (const { paths } of [{ paths: PATHS }, ...moreRoutes])
    for (const [path, methods] of Object.entries(paths)) refuseOtherMethods(app, path, methods);
  for (const path of Object.values(ANALYTICS_PATHS))
    refuseOtherMethods(app, path, ["GET"], { operators: true });
}

export function addAdminApi(app: FastifyInstance, admin: AdminContext): void {
  addAdminRoutes(app, admin);
  for (const [path, methods] of Object.entries(ADMIN_PATHS))
    refuseOtherMethods(app, path, methods, { administers: true });
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
