import { CONVERSATION_SWEEP_SUBJECT, type UnixMs, unixNow } from "@reprise/protocol";
import { type ConversationRows, isOver } from "./conversation-rows.ts";

const EVERY_MS = 300_000;
/** Clocks differ, and a call that has found a row goes on with it. */
const GRACE_MS = 60_000;

/**
 * Removes the rows of conversations behind their time. Their generations are kept as long as all others. Any process may do it; of those that
 * come at the same time one does.
 * @returns how many; undefined where another process does it, or has done it lately
 * @throws RepriseError `broker_unavailable`
 */
export async function sweepConversations(
  rows: ConversationRows,
  { everyMs = EVERY_MS, nowMs = unixNow() }: { readonly everyMs?: number; readonly nowMs?: UnixMs } = {},
): Promise<number | undefined> {
  if (!(await takeTurn(rows, nowMs, everyMs))) return undefined;
  let removed = 0;
  for await (const { subject, row, at } of rows.list()) {
    if (row.kind !== "conversation" || !isOver(row, nowMs - GRACE_MS)) continue;
    await rows.remove(subject, at);
    removed++;
  }
  return removed;
}

async function takeTurn(rows: ConversationRows, nowMs: UnixMs, everyMs: number): Promise<boolean> {
  const { row, at } = await rows.readSubject(CONVERSATION_SWEEP_SUBJECT);
  if (row?.kind === "sweep" && Date.parse(row.at) > nowMs - everyMs) return false;
  const next = { version: 1, kind: "sweep", at: new Date(nowMs).toISOString() } as const;
  return (await rows.write(CONVERSATION_SWEEP_SUBJECT, next, at)) !== undefined;
}
