import type { ReaderMetrics } from "../../../telemetry/reader-metrics.ts";
import type { RequestNotes } from "../../../telemetry/request-notes.ts";
import type { RequestLimits } from "../../../limits/request-limits.ts";
import type { RequestBodies } from "../../../bodies/request-bodies.ts";
import { announceEnd, type GenerationLog } from "@reprise/stream";
import { type Broker } from "@reprise/broker";
import {
  openaiResponses,
  parseProtocolId,
  parseStartingAfter,
  responsesAnswer,
  toAnswer,
  toInputItems,
  toProtocolId,
} from "@reprise/projections";
import { type GenerationRef, parseWith, RepriseError, toUnixMs } from "@reprise/protocol";
import type { Principal, Role } from "@reprise/tenancy";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { withoutConversations } from "../../../create/turns.ts";
import { accessGeneration } from "../../../domain/generation-access.ts";
import { cancelGeneration } from "../../../domain/read-generation.ts";
import type { ReadSources } from "../../../domain/shown-generation.ts";
import { readRequested } from "../../../domain/to-requested.ts";
import { lacksRole, type Authentication } from "../../../http/auth.ts";
import { readSettled, type SettledPorts } from "../../../projected/read-settled.ts";
import { streamProjected, type ProjectedPorts } from "../../../projected/stream-projected.ts";
import { callerOf } from "../../../readers/delivery-marks/caller.ts";
import { booleanParam, integerParam, noQuery } from "../../../http/query-params.ts";
import { addCreateResponseRoute, type CreateResponsePorts } from "./create-response.ts";
import { toCreatedWith } from "./created-with.ts";
import { endOf } from "./end-of.ts";
import { RESPONSE_ERRORS, toErrorFrames } from "./response-errors.ts";

export type ResponseRoutePorts = CreateResponsePorts &
  ProjectedPorts &
  ReadSources &
  SettledPorts & {
    readonly authentication: Authentication;
    readonly broker: Broker;
    readonly log: GenerationLog;
    readonly bodies: RequestBodies;
    readonly limits: RequestLimits;
    readonly notes: RequestNotes;
    readonly readerMetrics: ReaderMetrics;
  };

/** The paths of responses, and what each allows. */
export const RESPONSE_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/responses": ["POST"],
  "/v1/responses/:id": ["GET", "DELETE"],
  "/v1/responses/:id/cancel": ["POST"],
  "/v1/responses/:id/input_items": ["GET"],
};

/** A path of OpenAI's API that is no response, such as `/v1/responses/compact`. */
const NO_RESPONSE = "/v1/responses/:path(^(?!resp_|gen_)[^/]+$)";

const MOST_ITEMS = 100;

/** Accepted without effect: see the table of fields. */
const include = z.union([z.string(), z.array(z.string())]).optional();
const readQuery = z
  .strictObject({
    stream: booleanParam,
    starting_after: z.string().optional(),
    include,
    "include[]": include,
    include_obfuscation: booleanParam,
  })
  .refine(({ stream, starting_after: after }) => stream || after === undefined, {
    path: ["starting_after"],
    error: "needs stream=true",
  });
const itemsQuery = z.strictObject({
  limit: integerParam(1, MOST_ITEMS).prefault("20"),
  after: z.string().max(256).optional(),
  order: z.enum(["asc", "desc"]).default("desc"),
  include,
  "include[]": include,
});
const noBody = z.strictObject({}, { error: "must be empty" }).nullish();

type WithId = { Params: { id: string } };

/** The calls of OpenAI's Responses API. A response is a generation, whichever protocol it was created with. */
export function addResponseRoutes(app: FastifyInstance, context: ResponseRoutePorts): void {
  const { authentication, limits, log } = context;
  addCreateResponseRoute(app, context);
  const onRequest = (_request: FastifyRequest, reply: FastifyReply) => reply.callNotFound();
  app.post(NO_RESPONSE, { config: { streamTokens: true }, onRequest }, (_request, reply) =>
    reply.callNotFound(),
  );

  const readConfig = { roles: ["read"], streamTokens: true, countsItself: true, ...RESPONSE_ERRORS } as const;
  app.get<WithId>("/v1/responses/:id", { config: readConfig }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { stream: isStream, starting_after } = parseWith(readQuery, request.query, "query");
    const ref = await access(request, principal);
    await limits.attach([request, reply], principal, { isStream, waits: false });
    const read = readOf(request, principal, ref);
    if (isStream) {
      return streamProjected(context, reply, {
        ...read,
        projection: openaiResponses,
        from: parseStartingAfter(starting_after),
        param: "starting_after",
        status: 200,
        call: "read",
        onReplay: (bytesOf) => limits.replayed(request, principal, bytesOf),
        errorFrames: toErrorFrames,
      });
    }
    const requested = await readRequested(log, ref);
    const settled = await readSettled(context, reply, { ...read, fold: responsesAnswer, wait: false });
    return settled ? reply.send(toAnswer(settled.state, toCreatedWith(requested))) : reply;
  });

  const cancelConfig = { roles: ["cancel"], streamTokens: true, ...RESPONSE_ERRORS } as const;
  app.post<WithId>("/v1/responses/:id/cancel", { config: cancelConfig }, async (request, reply) => {
    using _ = context.bodies.keep(request.raw);
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    parseWith(noBody, request.body);
    const ref = await access(request, principal);
    const generation = await cancelGeneration(context, ref, "requested");
    announceEnd(context.broker.main, ref, generation.usage ?? undefined);
    const requested = await readRequested(log, ref);
    const end = endOf(generation);
    if (!principal.roles.has("read")) {
      const { model } = requested.request;
      const createdAtMs = toUnixMs(requested.created_at);
      // Without its text, for a key that may not read it.
      const state = responsesAnswer.begin({ generation: ref.generation, model, createdAtMs });
      return toAnswer(responsesAnswer.project(state, end).state, toCreatedWith(requested));
    }
    const read = readOf(request, principal, ref);
    const settled = await readSettled(context, reply, { ...read, fold: responsesAnswer, wait: false });
    if (!settled) return await reply;
    // It has ended, whether or not readers may have all that came before.
    const { state } = responsesAnswer.project(settled.state, end);
    return await reply.send(toAnswer(state, toCreatedWith(requested)));
  });

  const eraseConfig = { roles: ["erase"], ...RESPONSE_ERRORS } as const;
  app.delete<WithId>("/v1/responses/:id", { config: eraseConfig }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const ref = await access(request, principal);
    if (!context.responseTurns) throw withoutConversations("id");
    await context.responseTurns.erase(ref, principal.holder);
    return reply
      .code(202)
      .send({ id: toProtocolId("resp_", ref.generation), object: "response", deleted: true });
  });

  const itemsConfig = { roles: ["create"], ...RESPONSE_ERRORS } as const;
  app.get<WithId>("/v1/responses/:id/input_items", { config: itemsConfig }, async (request) => {
    const principal = authentication.principalOf(request);
    // The route requires `create` and `read`: a caller that may send the input may read it back.
    if (!principal.roles.has("read")) throw lacksRole("read");
    const { limit, after, order } = parseWith(itemsQuery, request.query, "query");
    const ref = await access(request, principal);
    // Refuses one that is being erased, of which the first event is still there.
    await context.hub.open(ref);
    const requested = await readRequested(log, ref);
    authentication.renewReader(principal, "read");
    const all = toInputItems(ref.generation, requested.request.input);
    if (order === "desc") all.reverse();
    const first = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    if (after !== undefined && first === 0) throw noSuchItem();
    const data = all.slice(first, first + limit);
    return {
      object: "list",
      data,
      first_id: data[0]?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: first + data.length < all.length,
    };
  });

  /** The generation that a call names, by its id of this protocol or by its own. */
  async function access(request: FastifyRequest<WithId>, principal: Principal): Promise<GenerationRef> {
    const ref = await accessGeneration(log, principal, parseProtocolId("resp_", request.params.id));
    context.notes.add(request, { generation: ref.generation });
    return ref;
  }

  function readOf(request: FastifyRequest, principal: Principal, ref: GenerationRef) {
    const role = "read" satisfies Role;
    return {
      ref,
      protocol: "openai-responses",
      caller: callerOf(request, principal),
      principal,
      role,
    } as const;
  }
}

function noSuchItem(): RepriseError {
  return new RepriseError("cursor_invalid", "after: names no item of this response.", { param: "after" });
}
