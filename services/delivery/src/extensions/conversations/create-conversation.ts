import { hash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ConversationRules } from "@reprise/tenancy";
import {
  type ConversationId,
  type ConversationRecord,
  conversationNotFound,
  type ConversationRequest,
  conversationSubject,
  type GenerationId,
  RepriseError,
  STREAM_START,
  type TenantId,
  toConversationId,
  type UnixMs,
  type WhenFull,
} from "@reprise/protocol";
import type { NodeConversations } from "./open-conversations.ts";

/** A conversation as the API returns it. */
export interface Conversation {
  readonly id: string;
  readonly object: "conversation";
  readonly turns: number;
  /** The last turn's generation. */
  readonly head: string | null;
  readonly on_busy: string;
  readonly when_full: WhenFull;
  readonly ttl_seconds: number;
  readonly created_at: string;
  readonly expires_at: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly subject?: string;
  readonly end_user?: string;
}

interface ToCreate {
  readonly tenant: TenantId;
  readonly request: ConversationRequest;
  readonly rules: ConversationRules;
  readonly idempotencyKey: string | undefined;
  /** The turn that its first turn follows: always the same for one key. */
  readonly behind?: GenerationId;
  /** By `conversationIdOf`. */
  readonly id: ConversationId;
  readonly nowMs: UnixMs;
}

type Stored = Pick<NodeConversations, "rows" | "accounts">;

/**
 * Creates a conversation, or finds the one that the idempotency key identifies.
 * @throws RepriseError `limit_exceeded` (`conversations.max`); `invalid_request` (`ttl_seconds`); `idempotency_conflict`; `conversation_not_found` if the
 *   key's conversation was deleted or has expired; `broker_unavailable`
 */
export async function createConversation(
  stored: Stored,
  options: ToCreate,
): Promise<{ readonly row: ConversationRecord; readonly isNew: boolean }> {
  const { tenant, id, request, rules, idempotencyKey, behind, nowMs } = options;
  const { rows, accounts } = stored;
  const subject = conversationSubject(tenant, id);
  if (idempotencyKey !== undefined) {
    const { row } = await rows.readSubject(subject);
    if (row) return join(rows, id, options);
  }
  const ttl_seconds = request.ttl_seconds ?? rules.defaultTtlSeconds;
  if (ttl_seconds > rules.mostTtlSeconds) throw tooLong(rules);
  const row: ConversationRecord = {
    version: 1,
    kind: "conversation",
    id,
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + ttl_seconds * 1_000).toISOString(),
    ...request,
    ttl_seconds,
    on_busy: request.on_busy ?? rules.onBusy,
    when_full: request.when_full ?? rules.whenFull,
    ...(request.items && { items_sha256: digestOf(request.items) }),
    ...(behind !== undefined && { behind }),
    turns: 0,
  };
  await accounts.add(tenant, 1, rules.most);
  // Where that throws the row may be stored all the same; a sweep puts the account right.
  if ((await rows.write(subject, row, STREAM_START)) !== undefined) return { row, isNew: true };
  await accounts.add(tenant, -1);
  return join(rows, id, options);
}

async function join(rows: Stored["rows"], id: ConversationId, { tenant, request, nowMs }: ToCreate) {
  const { row } = await rows.find(tenant, id, nowMs);
  const { ttl_seconds, on_busy, when_full } = row;
  const { items } = request;
  const asked = { ttl_seconds, on_busy, when_full, ...request, items_sha256: items && digestOf(items) };
  if (isDeepStrictEqual(requestOf(row), requestOf(asked))) return { row, isNew: false };
  throw new RepriseError(
    "idempotency_conflict",
    "This Idempotency-Key was used for a different conversation.",
    { param: "Idempotency-Key" },
  );
}

/**
 * Returns the id of a conversation that is to be created: the one of its idempotency key, else a new one.
 * @param owner the end user whose token sends the key: the same key of another one, or sent with an API key, names another conversation
 */
export function conversationIdOf(tenant: TenantId, key: string | undefined, owner?: string): ConversationId {
  if (key === undefined) return toConversationId(randomBytes(17));
  const names = [tenant, "conversation", key, ...(owner === undefined ? [] : [owner])];
  return toConversationId(hash("sha256", names.join("\n"), "buffer"));
}

function tooLong({ mostTtlSeconds }: ConversationRules): RepriseError {
  const message = `ttl_seconds: is ${mostTtlSeconds} at most for this tenant.`;
  return new RepriseError("invalid_request", message, { param: "ttl_seconds" });
}

/** Returns the client's request in its JSON form. */
function requestOf(request: ConversationRequest & Pick<ConversationRecord, "items_sha256">): unknown {
  const { ttl_seconds, on_busy = "reject", when_full, subject, end_user, metadata, items_sha256 } = request;
  return JSON.parse(
    JSON.stringify({ ttl_seconds, on_busy, when_full, subject, end_user, metadata, items_sha256 }),
  );
}

function digestOf(items: NonNullable<ConversationRequest["items"]>): string {
  return hash("sha256", JSON.stringify(items));
}

/**
 * Puts the row of a deleted conversation in its place: no further turn can be claimed. The audit log erases its generations.
 * @throws RepriseError `conversation_not_found`, `broker_unavailable`
 */
export async function deleteConversation(
  { rows, accounts }: Stored,
  {
    tenant,
    id,
    by,
    nowMs,
  }: {
    readonly tenant: TenantId;
    readonly id: ConversationId;
    readonly by: string;
    readonly nowMs: UnixMs;
  },
): Promise<void> {
  for (;;) {
    const { row, at } = await rows.read(tenant, id);
    if (row?.kind === "deleted") return;
    if (row?.kind !== "conversation") throw conversationNotFound();
    const deleted = {
      version: 1,
      kind: "deleted",
      id,
      by,
      deleted_at: new Date(nowMs).toISOString(),
      ...(row.head && { head: row.head.generation }),
      ...(row.summary && { summary: row.summary.generation }),
    } as const;
    if ((await rows.write(conversationSubject(tenant, id), deleted, at)) === undefined) continue;
    return accounts.add(tenant, -1);
  }
}

export function toConversation(row: ConversationRecord): Conversation {
  const {
    id,
    turns,
    head,
    on_busy = "reject",
    when_full,
    ttl_seconds,
    created_at,
    expires_at,
    metadata,
  } = row;
  const { subject, end_user } = row;
  return {
    id,
    object: "conversation",
    turns,
    head: head?.generation ?? null,
    on_busy,
    when_full,
    ttl_seconds,
    created_at,
    expires_at,
    metadata: metadata ?? {},
    ...(subject !== undefined && { subject }),
    ...(end_user !== undefined && { end_user }),
  };
}
