import { pause } from "@reprise/async";
import * as conversations from "@reprise/conversations";
import type { ExtensionOptions } from "../../extension.ts";

/** Ports of the conversation routes. */
export interface NodeConversations {
  readonly rows: conversations.ConversationRows;
  /** Counts the conversations of each tenant. */
  readonly accounts: conversations.ConversationAccounts;
  /** Milliseconds that the live log keeps a generation. */
  readonly retentionMs: number;
}

/** Milliseconds between two removals of expired conversations by all nodes together. */
const EVERY_MS = 300_000;

/** Begins to remove conversations that are over, until it is disposed of. */
export function openConversations(options: ExtensionOptions): NodeConversations & AsyncDisposable {
  const { broker, log, retentionMs } = options;
  const rows = new conversations.ConversationRows({
    publish: log.publish,
    reads: broker.reads,
    budgetMs: () => log.budgetMs,
  });
  const accounts = new conversations.ConversationAccounts(rows);
  const stop = new AbortController();
  const sweeping = sweepUntil(stop.signal, { rows, accounts }, options);
  return {
    rows,
    accounts,
    retentionMs,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sweeping;
    },
  };
}

/** Nodes take turns by the row of the last sweep. */
async function sweepUntil(
  signal: AbortSignal,
  stored: Pick<NodeConversations, "rows" | "accounts">,
  { metrics, onError }: ExtensionOptions,
): Promise<void> {
  const removed = metrics.counter("reprise_conversations_expired_total");
  while (!signal.aborted) {
    // Not all nodes ask in the same moment.
    await pause(EVERY_MS * (0.5 + Math.random()), signal);
    if (signal.aborted) return;
    try {
      removed.inc({}, (await conversations.sweepConversations(stored, { everyMs: EVERY_MS })) ?? 0);
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  }
}
