import { hash, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { conversations } from "@reprise/log";
import {
  type ConversationId,
  type ConversationRecord,
  conversationNotFound,
  type ConversationRequest,
  conversationSubject,
  RepriseError,
  STREAM_START,
  type TenantId,
  toConversationId,
  type UnixMs,
} from "@reprise/protocol";

/** What the API says of a conversation. */
export interface Conversation {
  readonly id: string;
  readonly object: "conversation";
  readonly turns: number;
  /** The last turn's generation. */
  readonly head: string | null;
  readonly when_full: string;
  readonly ttl_seconds: number;
  readonly created_at: string;
  readonly expires_at: string;
  readonly metadata: Readonly<Record<string, string>>;
  readonly subject?: string;
  readonly end_user?: string;
}

/**
 * Creates a conversation, or finds the one that the idempotency key stands for.
 * @throws RepriseError `idempotency_conflict`; `conversation_not_found` where the key's was deleted or is over; `broker_unavailable`
 */
export async function createConversation(
  rows: conversations.ConversationRows,
  {
    tenant,
    request,
    idempotencyKey,
    nowMs,
  }: {
    readonly tenant: TenantId;
    readonly request: ConversationRequest;
    readonly idempotencyKey: string | undefined;
    readonly nowMs: UnixMs;
  },
): Promise<{ readonly row: ConversationRecord; readonly isNew: boolean }> {
  const id = idOf(tenant, idempotencyKey);
  const row: ConversationRecord = {
    version: 1,
    kind: "conversation",
    id,
    created_at: new Date(nowMs).toISOString(),
    expires_at: new Date(nowMs + request.ttl_seconds * 1_000).toISOString(),
    ...request,
    turns: 0,
  };
  const isStored = (await rows.write(conversationSubject(tenant, id), row, STREAM_START)) !== undefined;
  if (isStored) return { row, isNew: true };
  const { row: known } = await rows.find(tenant, id, nowMs);
  if (isDeepStrictEqual(requestOf(known), requestOf(row))) return { row: known, isNew: false };
  throw new RepriseError(
    "idempotency_conflict",
    "This Idempotency-Key was used for a different conversation.",
    { param: "Idempotency-Key" },
  );
}

function idOf(tenant: TenantId, key: string | undefined): ConversationId {
  if (key === undefined) return toConversationId(randomBytes(17));
  return toConversationId(hash("sha256", `${tenant}\nconversation\n${key}`, "buffer"));
}

/** What its client has said, as JSON has it. */
function requestOf({ ttl_seconds, when_full, subject, end_user, metadata }: ConversationRecord): unknown {
  return JSON.parse(JSON.stringify({ ttl_seconds, when_full, subject, end_user, metadata }));
}

/**
 * Puts the row of a deleted conversation in its place: no further turn can be claimed. The audit log erases its generations.
 * @throws RepriseError `conversation_not_found`, `broker_unavailable`
 */
export async function deleteConversation(
  rows: conversations.ConversationRows,
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
    } as const;
    if ((await rows.write(conversationSubject(tenant, id), deleted, at)) !== undefined) return;
  }
}

export function toConversation(row: ConversationRecord): Conversation {
  const { id, turns, head, when_full, ttl_seconds, created_at, expires_at, metadata } = row;
  const { subject, end_user } = row;
  return {
    id,
    object: "conversation",
    turns,
    head: head?.generation ?? null,
    when_full,
    ttl_seconds,
    created_at,
    expires_at,
    metadata: metadata ?? {},
    ...(subject !== undefined && { subject }),
    ...(end_user !== undefined && { end_user }),
  };
}
