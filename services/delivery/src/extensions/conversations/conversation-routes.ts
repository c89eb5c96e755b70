import type { TurnSources } from "./read-turn.ts";
import type { NodeConversations } from "./open-conversations.ts";
import type { RequestBodies } from "../../bodies/request-bodies.ts";
import type { ReaderRegistry } from "../../readers/reader-registry.ts";
import type { GenerationLog } from "@reprise/stream";
import type { Authentication } from "../../http/auth.ts";
import {
  asStreamSeq,
  conversationNotFound,
  CONVERSATION_LIMITS,
  END_USER_RULE,
  FIRST_SEQ,
  isEndUser,
  parseConversationId,
  parseConversationRequest,
  parseIdempotencyKey,
  parseWith,
  RepriseError,
  STREAM_START,
  unixNow,
} from "@reprise/protocol";
import { conversationRulesOf } from "@reprise/tenancy";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { recordAccess } from "../../domain/audit-access.ts";
import { assertModel } from "../../models/assert-model.ts";
import { ownEndUser } from "../../http/own-end-user.ts";
import { callerOf } from "../../readers/delivery-marks/caller.ts";
import { recordFullResponse } from "../../readers/delivery-marks/record-full-response.ts";
import { integerParam, noQuery } from "../../http/query-params.ts";
import {
  conversationIdOf,
  createConversation,
  deleteConversation,
  toConversation,
} from "./create-conversation.ts";
import { listItems } from "./list-items.ts";

export interface ConversationPorts extends TurnSources {
  readonly authentication: Authentication;
  readonly log: GenerationLog;
  readonly readers: ReaderRegistry;
  readonly bodies: RequestBodies;
  readonly conversations: NodeConversations;
  readonly modelNames: () => ReadonlySet<string>;
}

/** The paths of conversations, and what each allows. */
export const CONVERSATION_PATHS: Readonly<Record<string, readonly string[]>> = {
  "/v1/conversations": ["GET", "POST"],
  "/v1/conversations/:id": ["GET", "DELETE"],
  "/v1/conversations/:id/items": ["GET"],
};

const DEFAULT_LIMIT = 20;

const pageFields = {
  limit: integerParam(1, CONVERSATION_LIMITS.page).prefault(`${DEFAULT_LIMIT}`),
};
export const conversationListSchema = z.strictObject({
  ...pageFields,
  /** `cursor` of the page before. */
  after: z
    .string()
    .regex(/^[0-9]{1,15}$/, { error: "must be the cursor of a page" })
    .transform(Number)
    .optional(),
  end_user: z.string().refine(isEndUser, { error: END_USER_RULE }).optional(),
});
export const itemListSchema = z.strictObject({
  ...pageFields,
  after: z.string().max(64).optional(),
  order: z.enum(["asc", "desc"]).default("asc"),
});

type WithId = { Params: { id: string } };

/** Fields that a page may set of a conversation that it creates: the others are the application's. */
const PAGE_FIELDS: ReadonlySet<string> = new Set(["end_user", "metadata"]);

/** @throws RepriseError `forbidden` */
function assertPageMaySay(body: object): void {
  const other = Object.keys(body).find((name) => !PAGE_FIELDS.has(name));
  if (other === undefined) return;
  throw new RepriseError(
    "forbidden",
    `${other}: a stream token can't set it. Create the conversation with an API key.`,
    {
      param: other,
    },
  );
}

/** Creates, shows and deletes conversations. An end user's token creates, lists and reads that user's. */
export function addConversationRoutes(app: FastifyInstance, context: ConversationPorts): void {
  const { authentication } = context;
  const { rows } = context.conversations;
  const reading = { roles: ["read"], endUserTokens: "read" } as const;
  const find = async (request: FastifyRequest<WithId>) => {
    const { tenant, endUser } = authentication.principalOf(request);
    const { row } = await rows.find(tenant, parseConversationId(request.params.id), unixNow());
    if (endUser !== undefined && row.end_user !== endUser) throw conversationNotFound();
    return row;
  };

  app.post(
    "/v1/conversations",
    { config: { roles: ["create"], endUserTokens: "create" } },
    async (request, reply) => {
      using _ = context.bodies.keep(request.raw);
      const principal = authentication.principalOf(request);
      const { tenant, conversations: settings } = principal;
      parseWith(noQuery, request.query, "query");
      const key = request.headers["idempotency-key"];
      const idempotencyKey = key === undefined ? undefined : parseIdempotencyKey(key);
      const body = parseConversationRequest(request.body);
      if (principal.tokenId !== undefined) assertPageMaySay(body);
      const endUser = ownEndUser(principal, body.end_user);
      const asked = { ...body, ...(endUser !== undefined && { end_user: endUser }) };
      const rules = conversationRulesOf(settings);
      const { when_full: whenFull = rules.whenFull } = asked;
      if (typeof whenFull !== "string") assertModel(context, principal, whenFull.model, "when_full.model");
      const { row, isNew } = await createConversation(context.conversations, {
        tenant,
        request: asked,
        rules,
        idempotencyKey,
        id: conversationIdOf(tenant, idempotencyKey, principal.endUser),
        nowMs: unixNow(),
      });
      return await reply
        .code(isNew ? 201 : 200)
        .header("location", `/v1/conversations/${row.id}`)
        .send(toConversation(row));
    },
  );

  app.get("/v1/conversations", { config: reading }, async (request) => {
    const principal = authentication.principalOf(request);
    const { limit, after, ...query } = parseWith(conversationListSchema, request.query, "query");
    const endUser = ownEndUser(principal, query.end_user);
    const nowMs = unixNow();
    const page = await rows.page(principal.tenant, {
      after: after === undefined ? STREAM_START : asStreamSeq(after),
      limit,
      isWanted: (row) =>
        Date.parse(row.expires_at) > nowMs && (endUser === undefined || row.end_user === endUser),
    });
    authentication.renewReader(principal, "read");
    const { next } = page;
    return {
      object: "list",
      data: page.rows.map(toConversation),
      ...(next !== undefined && { cursor: `${next}` }),
    };
  });

  app.get<WithId>("/v1/conversations/:id", { config: reading }, async (request) => {
    parseWith(noQuery, request.query, "query");
    const row = await find(request);
    return toConversation(row);
  });

  app.get<WithId>("/v1/conversations/:id/items", { config: reading }, async (request, reply) => {
    const principal = authentication.principalOf(request);
    const { tenant } = principal;
    const { limit, after, order } = parseWith(itemListSchema, request.query, "query");
    const row = await find(request);
    const caller = callerOf(request, principal);
    const page = await context.bodies.read([request.raw, tenant], async () => {
      const value = await listItems(context, {
        tenant,
        row,
        after,
        limit,
        isDescending: order === "desc",
        withInstructions: principal.tokenId === undefined,
        onArchived: (ref) => recordAccess(context.log.publish, ref, { ...caller, call: "read", query: {} }),
      });
      return { value, bytes: value.bytes };
    });
    // Logs and the archive may have taken seconds.
    authentication.renewReader(principal, "read");
    for (const { generation, seq } of page.shown) {
      const ref = { tenant, generation };
      const response = { ref, caller, protocol: "snapshot", fromSeq: FIRST_SEQ, lastSeq: seq } as const;
      recordFullResponse(context, reply, response);
    }
    const last = page.data.at(-1);
    return {
      object: "list",
      data: page.data,
      ...(!page.isLast && last && { cursor: last.id }),
    };
  });

  app.delete<WithId>("/v1/conversations/:id", { config: { roles: ["erase"] } }, async (request, reply) => {
    const { tenant, holder } = authentication.principalOf(request);
    parseWith(noQuery, request.query, "query");
    const id = parseConversationId(request.params.id);
    await deleteConversation(context.conversations, { tenant, id, by: holder, nowMs: unixNow() });
    return reply.code(202).send({ id, object: "conversation", status: "erasing" });
  });
}
