import type { RequestNotes } from "../../telemetry/request-notes.ts";
import type { RequestLimits } from "../../limits/request-limits.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import { hash } from "node:crypto";
import {
  MESSAGE_ID_METADATA,
  parseStartIndex,
  parseUiRequest,
  type UiCall,
  type UiModels,
} from "@reprise/projections";
import { parseWith, type ServedBy } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import type { Started, CreateGeneration } from "../../create/create-generation.ts";
import { lacksRole, type Authentication } from "../../http/auth.ts";
import { headerOf } from "../../http/header-of.ts";
import { usableModels } from "../agents/parse-options.ts";
import { addStopRoute, type StopPorts } from "../stop-route.ts";
import { beginThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";
import { noQuery } from "../../http/query-params.ts";
import { AI_SDK, findShownRun, type ChatRunPorts } from "./find-run.ts";
import { sendNothing, streamRun, type UiStreamPorts } from "./stream-run.ts";

export type UiChatPorts = ChatRunPorts &
  StopPorts &
  ThreadPorts &
  UiStreamPorts & {
    readonly authentication: Authentication;
    readonly create: CreateGeneration;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
    readonly modelNames: () => ReadonlySet<string>;
    readonly servedBy: (model: string) => ServedBy | undefined;
    readonly notes: RequestNotes;
  };

const CHAT = "/v1/ai-sdk/chat";

/** The paths of the AI SDK's chats, and their methods. */
export const AI_SDK_PATHS = {
  [CHAT]: ["POST"],
  [`${CHAT}/:id/stream`]: ["GET"],
  [`${CHAT}/:id/stop`]: ["POST"],
} as const;

interface ById {
  Params: { id: string };
}

const streamQuery = z.strictObject({ startIndex: z.string().optional() });

/**
 * Adds the routes that `useChat` and `WorkflowChatTransport` of the AI SDK call: a chat's next answer as a UI message stream, the same stream again, and its
 * stop. A chat is identified by the id from its page, and a run by the generation's id.
 */
export function addUiChatRoutes(app: FastifyInstance, context: UiChatPorts): void {
  const { authentication, bodies, limits, notes } = context;

  const create = { roles: ["create"], streamTokens: true, countsItself: true } as const;
  app.post(CHAT, { config: create }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    if (!principal.roles.has("read")) throw lacksRole("read");
    parseWith(noQuery, request.query, "query");
    const call = parseUiRequest(request.body, modelsOf(context, principal));
    const idempotencyKey = headerOf(request, "idempotency-key") ?? submissionKey(call, request.body);
    const creating = context.create({
      principal,
      call: [request, reply],
      request: call.request,
      idempotencyKey,
      isStream: true,
    });
    using started: Started = await creating.catch((error: unknown) => {
      throw call.inChatTerms(error);
    });
    const { ref, requested, begun } = started;
    if (call.chat !== undefined)
      await beginThreadRun(context, principal, { protocol: AI_SDK, id: call.chat, ref, requested });
    const messageId = requested.request.metadata?.[MESSAGE_ID_METADATA];
    const read = { startIndex: 0, call: "create", begun } as const;
    return await streamRun(context, [request, reply], { ref, messageId }, read);
  });

  const read = { roles: ["read"], streamTokens: true, countsItself: true } as const;
  app.get<ById>(`${CHAT}/:id/stream`, { config: read }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { startIndex } = parseWith(streamQuery, request.query, "query");
    const first = parseStartIndex(startIndex);
    await limits.attach([request, reply], principal, { isStream: true, waits: false });
    const run = await findShownRun(context, principal, request.params.id);
    if (!run) return sendNothing(reply, { byIndex: startIndex !== undefined });
    notes.add(request, { generation: run.ref.generation });
    return streamRun(context, [request, reply], run, { startIndex: first, call: "read" });
  });

  addStopRoute(app, context, { protocol: AI_SDK, path: CHAT });
}

function modelsOf(context: UiChatPorts, principal: Principal): UiModels {
  return {
    models: usableModels(context, principal),
    takes: (model, capability) => context.servedBy(model)?.capabilities.has(capability) ?? false,
  };
}

/** The same body of the same chat is the same run. Undefined for one that has no chat, or is to be another run. */
function submissionKey({ chat, isRegeneration }: UiCall, body: unknown): string | undefined {
  if (chat === undefined || isRegeneration) return undefined;
  return `${AI_SDK}-${hash("sha256", JSON.stringify(body), "hex")}`;
}
