import {
  CONVERSATION_SWEEP_SUBJECT,
  conversationAccountSubject,
  STREAM_START,
  type StreamSeq,
  parseConversationTenant,
  type TenantId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import type { ConversationAccounts } from "./conversation-accounts.ts";
import { type ConversationRows, isOver } from "./conversation-rows.ts";

const EVERY_MS = 300_000;
/** Clocks differ, and a call that has found a row keeps using it. */
const GRACE_MS = 60_000;
/** An account that has not changed for so long has no call under way that has changed it and not its rows. */
const QUIET_MS = 60_000;

/** The account of a tenant without a row. */
const NONE = { count: 0, storedAtUs: 0, at: STREAM_START };

/** The results of a sweep for one tenant. */
interface Seen {
  /** Rows that have not changed since the sweep began. */
  kept: number;
  /** Rows that have changed since: some of them may be among `kept`. */
  readonly changed: Set<string>;
  removed: number;
  account: { readonly count: number; readonly storedAtUs: number; readonly at: StreamSeq };
}

/**
 * Removes the rows of expired conversations, and corrects accounts. Their generations are kept as long as all others. Any process may sweep; of
 * processes that sweep at the same time, one does the work.
 * @returns the number of removed rows; undefined if another process is sweeping, or has swept recently
 * @throws RepriseError `broker_unavailable`
 */
export async function sweepConversations(
  { rows, accounts }: { readonly rows: ConversationRows; readonly accounts: ConversationAccounts },
  { everyMs = EVERY_MS, nowMs = unixNow() }: { readonly everyMs?: number; readonly nowMs?: UnixMs } = {},
): Promise<number | undefined> {
  const began = await takeTurn(rows, nowMs, everyMs);
  if (began === undefined) return undefined;
  const quietUs = (nowMs - QUIET_MS) * 1_000;
  const tenants = new Map<TenantId, Seen>();
  let removed = 0;
  for await (const { subject, row, at, storedAtUs } of rows.list()) {
    const tenant = parseConversationTenant(subject);
    if (tenant === undefined) continue;
    const seen = tenants.get(tenant) ?? { kept: 0, changed: new Set(), removed: 0, account: NONE };
    tenants.set(tenant, seen);
    if (row.kind === "account") seen.account = { count: row.conversations, storedAtUs, at };
    if (row.kind !== "conversation") continue;
    if (isOver(row, nowMs - GRACE_MS)) {
      await rows.remove(subject, at);
      seen.removed++;
      removed++;
    } else if (at < began) seen.kept++;
    else seen.changed.add(row.id);
  }
  for (const [tenant, { kept, changed, removed: gone, account }] of tenants) {
    if (account.storedAtUs > quietUs) await accounts.add(tenant, -gone);
    else await putAccount(rows, tenant, { account, least: kept, most: kept + changed.size, gone });
  }
  return removed;
}

/** Only if it has not changed since it was read: it may not be further from the rows than those that changed meanwhile are many. */
async function putAccount(
  rows: ConversationRows,
  tenant: TenantId,
  {
    account: { count, at },
    least,
    most,
    gone,
  }: { account: { count: number; at: StreamSeq }; least: number; most: number; gone: number },
): Promise<void> {
  const conversations = Math.min(Math.max(count - gone, least), most);
  if (conversations === count) return;
  await rows.write(conversationAccountSubject(tenant), { version: 1, kind: "account", conversations }, at);
}

/** @returns the stream sequence of the sweep's row: later changes have higher sequences */
async function takeTurn(
  rows: ConversationRows,
  nowMs: UnixMs,
  everyMs: number,
): Promise<StreamSeq | undefined> {
  const { row, at } = await rows.readSubject(CONVERSATION_SWEEP_SUBJECT);
  if (row?.kind === "sweep" && Date.parse(row.at) > nowMs - everyMs) return undefined;
  const next = { version: 1, kind: "sweep", at: new Date(nowMs).toISOString() } as const;
  return rows.write(CONVERSATION_SWEEP_SUBJECT, next, at);
}
