import type { RequestLimits } from "../../../limits/request-limits.ts";
import type { RequestBodies } from "../../../bodies/request-bodies.ts";
import { openaiResponses, parseResponsesRequest, responsesAnswer, toAnswer } from "@reprise/projections";
import { parseWith } from "@reprise/protocol";
import type { FastifyInstance } from "fastify";
import { withoutConversations } from "../../../create/turns.ts";
import { lacksRole, type Authentication } from "../../../http/auth.ts";
import { headerOf } from "../../../http/header-of.ts";
import { readSettled, type SettledPorts } from "../../../projected/read-settled.ts";
import { streamProjected, type ProjectedPorts } from "../../../projected/stream-projected.ts";
import { callerOf } from "../../../readers/delivery-marks/caller.ts";
import { noQuery } from "../../../http/query-params.ts";
import { assertModel } from "../../../models/assert-model.ts";
import { startOnce, type StartOncePorts } from "../start-once.ts";
import { toCreatedWith } from "./created-with.ts";
import { readReferenced, type ReferencePorts } from "./read-referenced.ts";
import type { ResponseTurns } from "./response-turns.ts";
import { RESPONSE_ERRORS, toErrorFrames } from "./response-errors.ts";

export type CreateResponsePorts = ProjectedPorts &
  ReferencePorts &
  SettledPorts &
  StartOncePorts & {
    readonly authentication: Authentication;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
    /** Undefined: this node has no conversations. */
    readonly responseTurns: ResponseTurns | undefined;
  };

/**
 * `POST /v1/responses`: a stream, the response as it ends, or with `background` as it begins. Which of these the body says; no `Accept` does. The caller may
 * leave, and have the rest by `GET`.
 */
export function addCreateResponseRoute(app: FastifyInstance, context: CreateResponsePorts): void {
  const { authentication, bodies, limits, responseTurns } = context;
  const config = { roles: ["create"], streamTokens: true, countsItself: true, ...RESPONSE_ERRORS } as const;
  app.post("/v1/responses", { config }, async (request, reply) => {
    using _ = bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    if (!principal.roles.has("read")) throw lacksRole("read");
    parseWith(noQuery, request.query, "query");
    const asked = parseResponsesRequest(request.body);
    const { stream: isStream, background, previous } = asked;
    const idempotencyKey = headerOf(request, "idempotency-key");
    using started = await startOnce(context, [request, reply], principal, {
      body: request.body,
      async toAsked() {
        // A call that the limits or its model refuse has nothing read for it.
        if (previous ?? asked.references[0]) {
          await limits.count([request, reply], principal);
          if (asked.model !== undefined) assertModel(context, principal, asked.model);
        }
        const items = await readReferenced(context, principal, asked.references);
        if (previous && !responseTurns) throw withoutConversations("previous_response_id");
        const place = previous && (await responseTurns?.placeAfter(principal, previous, idempotencyKey));
        return { request: asked.toNative(items, place?.predecessor), begins: place?.begins };
      },
      idempotencyKey,
      joinOnly: false,
      isStream,
    });
    const { ref, begun, requested } = started;
    const caller = callerOf(request, principal);
    const read = { ref, protocol: "openai-responses", caller, principal, role: "read", begun } as const;
    if (isStream) {
      return await streamProjected(context, reply, {
        ...read,
        awaitsContent: !background,
        projection: openaiResponses,
        from: 0,
        status: 200,
        call: "create",
        onReplay: (bytesOf) => limits.replayed(request, principal, bytesOf),
        errorFrames: toErrorFrames,
      });
    }
    const settled = await readSettled(context, reply, { ...read, fold: responsesAnswer, wait: !background });
    if (!settled) return await reply;
    return await reply.send(toAnswer(settled.state, toCreatedWith(requested)));
  });
}
