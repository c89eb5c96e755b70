import {
  effectiveRequest,
  encodeCursor,
  type Generation,
  type GenerationRef,
  type GenerationRequest,
  parseGenerationRequest,
  parseIdempotencyKey,
  parseWith,
  RepriseError,
  START,
  MediaTranscript,
  unixNow,
} from "@reprise/protocol";
import { type BufferedFeed, bufferLiveFeed } from "@reprise/log";
import { JOB_SPAN, MESSAGING, REPRISE, traceFields } from "@reprise/telemetry";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { lacksRole } from "../http/auth.ts";
import { callerOf } from "../readers/delivery-marks/caller.ts";
import { assertInTime, claimTurn, unclaimTurn } from "../conversations/claim-turn.ts";
import { createSummary } from "../conversations/create-summary.ts";
import { conversationBusy } from "../conversations/conversation-busy.ts";
import {
  type PreparedTurn,
  prepareTurn,
  toAdditions,
  withoutSummary,
} from "../conversations/prepare-turn.ts";
import { withConversation } from "../conversations/with-conversation.ts";
import { assertModel } from "../models/assert-model.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import type { FetchedMedia } from "../models/fetch-media.ts";
import { completeRequest, prepareRequest } from "../models/prepare-request.ts";
import { createGeneration, type RequestAdditions } from "../domain/create-generation.ts";
import { readGeneration } from "../domain/read-generation.ts";
import { reservationOf } from "../limits/request-limits.ts";
import { requestedCursor } from "../domain/resume-cursor.ts";
import { toGeneration } from "../domain/to-generation.ts";
import type { RouteContext } from "./context.ts";
import { streamEvents } from "./events.ts";
import { preferredType } from "./negotiation.ts";
import { noQuery } from "./query-params.ts";
import { toResponse } from "./to-response.ts";

/** The header that tells the id of a generation whose creation is answered with its stream. */
export const GENERATION_ID_HEADER = "Reprise-Generation-Id";

/** How often a turn is claimed that waits for others: each time another one has been faster. */
const MOST_CLAIMS = 64;

/** `POST /v1/generations`. */
export function addCreateRoute(app: FastifyInstance, context: RouteContext): void {
  const { authentication, log, ruleSets, shards, logger } = context;
  app.post(
    "/v1/generations",
    { config: { roles: ["create"], streamTokens: true, countsItself: true } },
    async (request, reply) => {
      using _ = context.bodies.keep(request.raw);
      const principal = authentication.principalOf(request);
      const { id: requestId } = request;
      const onError = (err: unknown) =>
        logger.error(
          { err, request: requestId, ...traceFields(context.traces.spanOf(request)) },
          "a callback failed",
        );
      const { tenant, policy, slots, storedAtUs, endUser } = principal;
      const caller = callerOf(request, principal);
      parseWith(noQuery, request.query, "query");
      const type = preferredType(request.headers.accept, ["application/json", "text/event-stream"]);
      if (type === "text/event-stream" && !principal.roles.has("read")) throw lacksRole("read");
      const sent = withEndUser(parseGenerationRequest(request.body), endUser);
      let body = sent;
      assertModel(context, principal, body.model);
      const key = header(request, "idempotency-key");
      const lastEventId = header(request, "last-event-id") || undefined;
      if (lastEventId !== undefined && key === undefined) {
        const message = "A create that resumes needs the Idempotency-Key it was first sent with.";
        throw new RepriseError("invalid_request", message, { param: "Idempotency-Key" });
      }
      const resume = requestedCursor(lastEventId, undefined);
      const isStream = type === "text/event-stream";
      const { main: connection } = context.broker;
      using expected = new DisposableStack();
      let listening: BufferedFeed | undefined;
      // Parsed it is `sent`; kept here it would be kept for as long as a stream that is the answer.
      request.body = undefined;
      const tokens = reservationOf(body);
      const now = new Date();
      const charges = context.budgets.chargesOf(principal, body.model, now);
      let hasReserved = false;
      let turn: PreparedTurn | undefined;
      let additions: RequestAdditions = {};
      let fetched: FetchedMedia | undefined;
      const prepare = async (ref: GenerationRef): Promise<RequestAdditions> =>
        (additions = await prepareRequest(context, body, principal, async (own) => {
          if (body.conversation === undefined) return undefined;
          const contextTokens = await contextTokensOf(context, body.model);
          turn = await prepareTurn(context, { ref, request: body, contextTokens, ...own, raw: request.raw });
          return turn && { ...turn, additions: toAdditions(turn) };
        }));
      const creating = createGeneration({
        log,
        ruleSets,
        classifiers: context.classifiers(),
        shards,
        tenant,
        tenantPolicy: policy,
        share: {
          weight: slots?.weight ?? 1,
          maxRunning: slots?.max ?? Number.POSITIVE_INFINITY,
          storedAtUs,
        },
        request: sent,
        toStored: async () => (body = await withConversation(context.conversations, principal, sent)),
        prepare,
        reserve: ({ ref, requested }) =>
          context.budgets.reserve(ref, charges, effectiveRequest(requested), requested.media),
        async complete(begun) {
          fetched = await completeRequest(context, begun, principal);
          return fetched && { media: fetched.media };
        },
        async claim(ref) {
          let anew: RequestAdditions | undefined;
          const { rows } = context.conversations;
          for (let tries = 0; turn && !(await claim(rows, ref, turn));) {
            if (++tries === MOST_CLAIMS) throw conversationBusy();
            anew = await prepare(ref);
            // The turn that was faster may be in the prompt by now.
            const media = { ...anew.media, ...fetched?.media };
            await context.budgets.reserve(ref, charges, effectiveRequest({ request: body, ...anew }), media);
          }
          if (!turn?.summary) return anew;
          const claimedAtMs = unixNow();
          const by = { principal, call: [request, reply] } as const;
          const isMade = await createSummary(context, by, turn.summary);
          assertInTime(claimedAtMs);
          return isMade ? anew : { ...additions, ...toAdditions(withoutSummary(turn)) };
        },
        async unclaim(ref) {
          if (turn) await unclaimTurn(context.conversations.rows, ref, turn.place);
        },
        idempotencyKey: key === undefined ? undefined : parseIdempotencyKey(key),
        keyOwner: endUser,
        joinOnly: lastEventId !== undefined,
        async admit(created) {
          hasReserved = created !== undefined;
          await context.limits.create([request, reply], principal, {
            endUser: body.end_user,
            generation: created?.generation,
            tokens,
            isStream,
          });
          // How much there was before a turn is not known yet.
          if (!created || body.conversation === undefined) return;
          try {
            await context.budgets.reserve(created, charges, body);
          } catch (error) {
            context.limits.abandoned(created, tokens);
            throw error;
          }
        },
        onAbandoned(created) {
          context.limits.abandoned(created, tokens);
          context.budgets.abandoned(created, charges);
          void fetched?.remove();
        },
        traceparent: context.traces.traceparentOf(request),
        startSend: (created) =>
          context.tracing.start("send jobs", {
            kind: "producer",
            parent: context.traces.spanOf(request).context,
            attributes: {
              ...JOB_SPAN,
              [MESSAGING.operation]: "send",
              [MESSAGING.operationType]: "send",
              [MESSAGING.messageId]: created.generation,
              [REPRISE.generation]: created.generation,
              [REPRISE.model]: body.model,
            },
          }),
        budgets: charges,
        now,
        connection,
        onError,
        // So that the log of a generation that is streamed from its beginning need not be read.
        onCreating: isStream
          ? (created) => (listening = expected.use(bufferLiveFeed({ connection, onError }, created)))
          : undefined,
      });
      const { ref, requested, joined, first } = await context.readerMetrics.countGone(
        resume.cursor,
        creating,
      );
      context.bodies.release(request.raw);
      context.notes.add(request, { generation: ref.generation, model: body.model });
      if (!joined) context.readerMetrics.created(body.model);
      if (joined && hasReserved) context.limits.joined(ref, tokens);
      const status = joined ? 200 : 201;
      void reply.header(GENERATION_ID_HEADER, ref.generation);
      if (isStream) {
        const snapshot = { events: [first.payload], streamSeq: first.streamSeq };
        const onReplay = (bytesOf: () => number) => context.limits.replayed(request, principal, bytesOf);
        const begun = listening && !joined ? { listening, snapshot } : undefined;
        const stream = streamEvents(context, reply, {
          ref,
          resume,
          status,
          caller,
          principal,
          role: "read",
          onReplay,
          call: "create",
          begun,
        });
        return await context.readerMetrics.countGone(resume.cursor, stream);
      }
      const generation: Generation = joined
        ? await readGeneration(context, ref)
        : { ...toGeneration(ref.generation, requested, new MediaTranscript()), cursor: encodeCursor(START) };
      const answer = toResponse(context, [request, reply], { ref, generation });
      return reply.code(status).header("location", `/v1/generations/${ref.generation}`).send(answer);
    },
  );
}

function claim(
  rows: RouteContext["conversations"]["rows"],
  ref: GenerationRef,
  { place, context }: PreparedTurn,
): Promise<boolean> {
  return claimTurn(rows, ref, place, context.summary?.generation);
}

/**
 * What an end user's token creates is that user's: the token says whose, and the request can't say otherwise.
 * @throws RepriseError `invalid_request`
 */
function withEndUser(request: GenerationRequest, endUser: string | undefined): GenerationRequest {
  if (endUser === undefined) return request;
  if (request.end_user === undefined || request.end_user === endUser)
    return { ...request, end_user: endUser };
  throw new RepriseError("invalid_request", "end_user: is another one than the stream token's.", {
    param: "end_user",
  });
}

function header(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
