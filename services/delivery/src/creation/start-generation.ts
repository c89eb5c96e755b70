import { type BufferedFeed, bufferLiveFeed, type NewLog } from "@reprise/log";
import {
  asUnixMs,
  effectiveRequest,
  type GenerationRef,
  type GenerationRequest,
  parseIdempotencyKey,
  RepriseError,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import { JOB_SPAN, MESSAGING, REPRISE, traceFields } from "@reprise/telemetry";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply, FastifyRequest } from "fastify";
import { assertInTime, claimTurn, unclaimTurn } from "../conversations/claim-turn.ts";
import { conversationBusy } from "../conversations/conversation-busy.ts";
import { createSummary } from "../conversations/create-summary.ts";
import {
  type PreparedTurn,
  prepareTurn,
  toAdditions,
  withoutSummary,
} from "../conversations/prepare-turn.ts";
import { type Owner, withConversation } from "../conversations/with-conversation.ts";
import { type Created, createGeneration, type RequestAdditions } from "../domain/create-generation.ts";
import { reservationOf } from "../limits/request-limits.ts";
import { assertModel } from "../models/assert-model.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import type { FetchedMedia } from "../models/fetch-media.ts";
import { completeRequest, prepareRequest } from "../models/prepare-request.ts";
import { ownEndUser } from "../http/own-end-user.ts";
import type { RouteContext } from "../routes/context.ts";
import { withToken } from "./with-token.ts";

/** The header that tells the id of a generation whose creation is answered with its stream. */
export const GENERATION_ID_HEADER = "Reprise-Generation-Id";

/** Tells clients of OpenAI's API not to send the request again when it has failed. By themselves they do, by its status. */
export const SHOULD_RETRY_HEADER = "X-Should-Retry";

/** How often a turn is claimed that waits for others: each time another one has been faster. */
const MOST_CLAIMS = 64;

/** A conversation that a request names and that may not be there yet. */
export interface NewConversation {
  readonly owner: Owner;
  /** Called once, when the generation is admitted. What it throws is the answer. */
  readonly create: () => Promise<unknown>;
}

export interface ToStart {
  /** As its caller has asked for it; what an end user's token creates becomes that user's here. */
  readonly request: GenerationRequest;
  /** The request's conversation, where that is to be created first. */
  readonly begins?: NewConversation | undefined;
  /** As it was sent, or as a protocol derives it from what its clients send. Undefined: there is nothing to join. */
  readonly idempotencyKey: string | undefined;
  /** Whether the caller resumes: there must be a generation to join, and none is created. */
  readonly joinOnly: boolean;
  /** Whether the answer is a stream: it takes a reader's place of the limits, and the live feed is listened to from the beginning. */
  readonly isStream: boolean;
  /** Called before anything of a new generation is stored, with when it is requested. */
  readonly onCreating?: ((ref: GenerationRef, requestedAtMs: UnixMs) => void) | undefined;
}

export interface Started extends Omit<Created, "first">, Disposable {
  /** Of the answer: 201, or 200 where the generation was there before. */
  readonly status: 200 | 201;
  /** For the hub, so that the log of a generation that is streamed from its beginning need not be read. Not to be used once this is disposed of. */
  readonly begun: NewLog | undefined;
}

/**
 * Creates a generation for a call, or joins the one that its idempotency key stands for, as a route of any protocol does it: with the tenant's limits and
 * budgets, its turn of a conversation, its media, its trace and its metrics. Sets the headers `Reprise-Generation-Id` and `X-Should-Retry`. The route keeps the body
 * (`context.bodies.keep`) before it parses that; it is released here. Whether the caller may read the answer is the route's to check.
 * @throws RepriseError all that `createGeneration` does; `invalid_request` (an end user that is not the token's; no key to join with), `forbidden` (what the token does not leave to its page), `model_not_found`,
 *   `model_not_allowed`, `limit_exceeded`, `budget_exceeded`, `conversation_busy`, `capability_unsupported` and others of preparing a request
 */
export async function startGeneration(
  context: RouteContext,
  [request, reply]: readonly [FastifyRequest, FastifyReply],
  principal: Principal,
  { request: asked, begins, idempotencyKey, joinOnly, isStream, onCreating }: ToStart,
): Promise<Started> {
  const { log, ruleSets, shards, logger } = context;
  const { tenant, policy, slots, storedAtUs, endUser } = principal;
  const { main: connection } = context.broker;
  const onError = (err: unknown) =>
    logger.error(
      { err, request: request.id, ...traceFields(context.traces.spanOf(request)) },
      "a callback failed",
    );
  const allowed = withToken(asked, principal);
  const owner = ownEndUser(principal, allowed.end_user);
  const sent = owner === undefined ? allowed : { ...allowed, end_user: owner };
  let body = sent;
  assertModel(context, principal, body.model);
  if (joinOnly && idempotencyKey === undefined) throw needsKey();
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
      const { input: instructions } = principal.template ?? {};
      const toPrepare = { ref, request: body, instructions, contextTokens };
      turn = await prepareTurn(context, { ...toPrepare, ...own, raw: request.raw });
      return turn && { ...turn, additions: toAdditions(turn) };
    }));
  const { ref, requested, joined, first } = await createGeneration({
    log,
    ruleSets,
    checkRules: (whose, rules) => context.ruleChecks.checkRequested(whose, rules),
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
    toStored: async () =>
      (body = await withConversation(context.conversations, principal, sent, begins?.owner)),
    async prepare(created) {
      await begins?.create();
      return prepare(created);
    },
    reserve: (created) =>
      context.budgets.reserve(
        created.ref,
        charges,
        effectiveRequest(created.requested),
        created.requested.media,
      ),
    async complete(begun) {
      fetched = await completeRequest(context, begun, principal);
      return fetched && { media: fetched.media };
    },
    async claim(claiming) {
      let anew: RequestAdditions | undefined;
      const { rows } = context.conversations;
      for (let tries = 0; turn && !(await claim(rows, claiming, turn));) {
        if (++tries === MOST_CLAIMS) throw conversationBusy();
        anew = await prepare(claiming);
        // The turn that was faster may be in the prompt by now.
        const media = { ...anew.media, ...fetched?.media };
        await context.budgets.reserve(claiming, charges, effectiveRequest({ request: body, ...anew }), media);
      }
      if (!turn?.summary) return anew;
      const claimedAtMs = unixNow();
      const by = { principal, call: [request, reply] } as const;
      const isMade = await createSummary(context, by, turn.summary);
      assertInTime(claimedAtMs);
      return isMade ? anew : { ...additions, ...toAdditions(withoutSummary(turn)) };
    },
    async unclaim(claimed) {
      if (turn) await unclaimTurn(context.conversations.rows, claimed, turn.place);
    },
    idempotencyKey: idempotencyKey === undefined ? undefined : parseIdempotencyKey(idempotencyKey),
    keyOwner: endUser,
    joinOnly,
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
    onCreating(created) {
      // From here on there may be a generation: without a key each further request would make another one.
      if (idempotencyKey === undefined) void reply.header(SHOULD_RETRY_HEADER, "false");
      // So that the log of a generation that is streamed from its beginning need not be read.
      if (isStream) listening = expected.use(bufferLiveFeed({ connection, onError }, created));
      onCreating?.(created, asUnixMs(now.getTime()));
    },
  });
  context.bodies.release(request.raw);
  context.notes.add(request, { generation: ref.generation, model: body.model });
  if (!joined) context.readerMetrics.created(body.model);
  if (joined && hasReserved) context.limits.joined(ref, tokens);
  void reply.header(GENERATION_ID_HEADER, ref.generation);
  const snapshot = { events: [first.payload], streamSeq: first.streamSeq };
  const owned = expected.move();
  return {
    ref,
    requested,
    joined,
    status: joined ? 200 : 201,
    begun: listening && !joined ? { listening, snapshot } : undefined,
    [Symbol.dispose]: () => owned.dispose(),
  };
}

function claim(
  rows: RouteContext["conversations"]["rows"],
  ref: GenerationRef,
  { place, context }: PreparedTurn,
): Promise<boolean> {
  return claimTurn(rows, ref, place, context.summary?.generation);
}

function needsKey(): RepriseError {
  const message = "A create that resumes needs the Idempotency-Key it was first sent with.";
  return new RepriseError("invalid_request", message, { param: "Idempotency-Key" });
}
