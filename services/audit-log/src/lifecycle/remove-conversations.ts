import { conversations, logErasure } from "@reprise/log";
import {
  CONVERSATIONS_STREAM,
  CONVERSATIONS_SUBJECTS,
  tenantConversationSubjects,
  type TenantId,
} from "@reprise/protocol";
import { subjectTag } from "../archiving/read-log-metadata.ts";
import type { LifecycleContext, LiveStreams } from "./lifecycle-context.ts";

const BUDGET_MS = 20_000;
const ROWS = { stream: CONVERSATIONS_STREAM, subjects: CONVERSATIONS_SUBJECTS };

/**
 * Removes the rows of a subject's conversations: their generations are erased as the subject's are. May be repeated; nothing without a broker.
 * @param tag the keyed hash by which the archive knows the subject
 * @throws RepriseError `broker_unavailable`
 */
export async function removeConversations(
  { keyring, live }: Pick<LifecycleContext, "keyring" | "live">,
  tenant: TenantId,
  tag: string,
): Promise<void> {
  if (!live) return;
  const rows = rowsOf(live);
  let removed = 0;
  for await (const { subject, row, at } of rows.list(tenantConversationSubjects(tenant))) {
    if (row.kind !== "conversation" || row.subject === undefined) continue;
    if ((await keyring.tag(tenant, subjectTag(row.subject))) !== tag) continue;
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
    budgetMs: BUDGET_MS,
  });
}

/** Has the broker's newest file lose what was removed. */
export async function clearRows(live: LiveStreams): Promise<void> {
  await logErasure.purgeFiller(live.broker, ROWS, await logErasure.fillStream(live, ROWS));
}
