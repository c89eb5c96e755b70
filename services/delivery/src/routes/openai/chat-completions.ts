import type { RequestLimits } from "../../limits/request-limits.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import { SHOULD_RETRY_HEADER } from "../../http/header-names.ts";
import {
  chatAnswer,
  chatProjection,
  parseChatPosition,
  parseChatRequest,
  toChatErrorFrame,
} from "@reprise/projections";
import { parseWith, RepriseError } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { lacksRole, type Authentication } from "../../http/auth.ts";
import { toOpenAiErrorBody } from "../../http/error-body.ts";
import { headerOf } from "../../http/header-of.ts";
import { readSettled, type SettledPorts } from "../../projected/read-settled.ts";
import { streamProjected, type ProjectedPorts } from "../../projected/stream-projected.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { parseOptions, type ParsePorts } from "../agents/parse-options.ts";
import { noQuery } from "../../http/query-params.ts";
import { startOnce, type StartOncePorts } from "./start-once.ts";

export type ChatPorts = ParsePorts &
  ProjectedPorts &
  SettledPorts &
  StartOncePorts & {
    readonly authentication: Authentication;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
  };

const CHAT_PATH = "/v1/chat/completions";

/** Each path, and the methods that it takes. */
export const CHAT_PATHS: Readonly<Record<string, readonly string[]>> = { [CHAT_PATH]: ["POST"] };

/**
 * `POST /v1/chat/completions`, as OpenAI's API has it. The request's `stream` says how it is answered, and no `Accept` does: the package `openai` asks for
 * JSON in either case. A stream's positions are its frames, in the ids of its messages.
 */
export function addChatRoute(app: FastifyInstance, context: ChatPorts): void {
  const { authentication, bodies, limits } = context;
  const config = {
    roles: ["create"],
    streamTokens: true,
    countsItself: true,
    errors: toOpenAiErrorBody,
  } as const;
  app.post(CHAT_PATH, { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    if (!principal.roles.has("read")) throw lacksRole("read");
    parseWith(noQuery, request.query, "query");
    const {
      request: asked,
      stream: isStream,
      includeUsage,
    } = parseChatRequest(request.body, parseOptions(context, undefined));
    const lastEventId = headerOf(request, "last-event-id") || undefined;
    if (lastEventId !== undefined && !isStream) throw needsStream();
    const from = parseChatPosition(lastEventId);
    using started = await startOnce(context, [request, reply], principal, {
      body: request.body,
      toAsked: () => ({ request: asked }),
      idempotencyKey: headerOf(request, "idempotency-key"),
      joinOnly: lastEventId !== undefined,
      isStream,
    });
    const { ref, begun } = started;
    const read = {
      ref,
      protocol: "openai-chat",
      caller: callerOf(request, principal),
      principal,
      role: "read",
      begun,
      awaitsContent: lastEventId === undefined,
    } as const;
    if (isStream) {
      return await streamProjected(context, reply, {
        ...read,
        projection: chatProjection({ includeUsage }),
        from,
        param: "Last-Event-ID",
        status: 200,
        endedStatus: 204,
        call: "create",
        onReplay: (bytesOf) => limits.replayed(request, principal, bytesOf),
        errorFrames: (error) => [toChatErrorFrame(error)],
        ids: true,
      });
    }
    const settled = await readSettled(context, reply, { ...read, fold: chatAnswer, wait: true });
    if (!settled) return await reply;
    const { answer } = settled.state;
    if (!answer) throw new RepriseError("internal", "A generation was read to its end, and has none.");
    // Sent again it would run again, or with its key be answered the same.
    if (answer.status !== 200) void reply.header(SHOULD_RETRY_HEADER, "false");
    return await reply.code(answer.status).send(answer.body);
  });
}

function needsStream(): RepriseError {
  return new RepriseError("invalid_request", "Last-Event-ID: needs a request with stream: true.", {
    param: "Last-Event-ID",
  });
}
