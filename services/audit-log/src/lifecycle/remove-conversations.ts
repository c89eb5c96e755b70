import * as conversations from "@reprise/conversations";
import { logErasure } from "@reprise/stream";
import {
  type ConversationRecord,
  CONVERSATIONS_STREAM,
  CONVERSATIONS_SUBJECTS,
  type StreamSeq,
  tenantConversationSubjects,
  type TenantId,
} from "@reprise/protocol";
import { subjectTag } from "../records/search-tags.ts";
import type { LifecycleContext, LiveStreams } from "./lifecycle-context.ts";

const BUDGET_MS = 20_000;
const ROWS = { stream: CONVERSATIONS_STREAM, subjects: CONVERSATIONS_SUBJECTS };

/** A conversation that takes no turn any more, as its row lies. */
export interface ClosedConversation {
  readonly subject: string;
  readonly at: StreamSeq;
  /** The record before its deletion. */
  readonly before: ConversationRecord;
}

/**
 * Deletes a subject's conversations: from then on none of them takes a turn. Their generations are erased as the subject's are, and what comes of a
 * turn that was claimed before, by the round that looks for deleted conversations. Each is given back to the tenant's quota. May be repeated; nothing
 * without a broker.
 * @param tag the keyed hash by which the archive knows the subject
 * @param by who erases
 * @throws RepriseError `broker_unavailable`
 */
export async function closeConversations(
  { keyring, live }: Pick<LifecycleContext, "keyring" | "live">,
  tenant: TenantId,
  { tag, by }: { readonly tag: string; readonly by: string },
): Promise<readonly ClosedConversation[]> {
  if (!live) return [];
  const rows = rowsOf(live);
  const accounts = new conversations.ConversationAccounts(rows);
  const closed: ClosedConversation[] = [];
  for await (const listed of rows.list(tenantConversationSubjects(tenant))) {
    const { subject } = listed;
    let { row, at }: conversations.PlacedConversation = listed;
    if (row?.kind !== "conversation" || row.subject === undefined) continue;
    if ((await keyring.tag(tenant, subjectTag(row.subject))) !== tag) continue;
    while (row?.kind === "conversation") {
      const deleted = {
        version: 1,
        kind: "deleted",
        id: row.id,
        by,
        deleted_at: new Date().toISOString(),
        ...(row.head && { head: row.head.generation }),
        ...(row.summary && { summary: row.summary.generation }),
      } as const;
      const stored = await rows.write(subject, deleted, at);
      if (stored !== undefined) {
        closed.push({ subject, at: stored, before: row });
        await accounts.add(tenant, -1);
        break;
      }
      ({ row, at } = await rows.readSubject(subject));
    }
  }
  return closed;
}

/**
 * Puts conversations back as they were, where nothing has come of their removal since. They count again, also where the tenant's quota has no room.
 * @throws RepriseError `broker_unavailable`
 */
export async function reopenConversations(
  { live }: Pick<LifecycleContext, "live">,
  tenant: TenantId,
  closed: readonly ClosedConversation[],
): Promise<void> {
  if (!live) return;
  const rows = rowsOf(live);
  const accounts = new conversations.ConversationAccounts(rows);
  for (const { subject, before, at } of closed) {
    const stored = await rows.write(subject, before, at);
    if (stored !== undefined) await accounts.add(tenant, 1);
  }
}

/**
 * Removes the rows of deleted conversations whose last turn is among those that are erased, with its summary, or which had none.
 * @throws RepriseError `broker_unavailable`
 */
export async function removeConversations(
  { live }: Pick<LifecycleContext, "live">,
  tenant: TenantId,
  generations: readonly string[],
): Promise<void> {
  if (!live) return;
  const rows = rowsOf(live);
  const erased = new Set(generations);
  let removed = 0;
  for await (const { subject, row, at } of rows.list(tenantConversationSubjects(tenant))) {
    if (row.kind !== "deleted") continue;
    if ([row.head, row.summary].some((last) => last !== undefined && !erased.has(last))) continue;
    await rows.remove(subject, at);
    removed++;
  }
  if (removed > 0) await clearRows(live);
}

/** The rows of all conversations. */
export function rowsOf({ broker, log }: LiveStreams): conversations.ConversationRows {
  return new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => BUDGET_MS,
  });
}

/** Has the broker's newest file lose what was removed. */
export async function clearRows(live: LiveStreams): Promise<void> {
  await logErasure.purgeFiller(live.broker, ROWS, await logErasure.fillStream(live, ROWS));
}
