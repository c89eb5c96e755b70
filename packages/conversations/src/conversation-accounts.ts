import { Semaphore } from "@reprise/async";
import { conversationAccountSubject, RepriseError, type StreamSeq, type TenantId } from "@reprise/protocol";
import { changeAccount } from "@reprise/stream";
import type { ConversationRows } from "./conversation-rows.ts";

/** Conversations that are over are removed about so often. */
const RETRY_MS = 60_000;

interface Gate {
  readonly turns: Semaphore;
  calls: number;
}

/**
 * Number of conversations of each tenant: one row per tenant, changed by compare-and-set, so that all nodes together keep to a quota. A process
 * that dies between a conversation and its account leaves the two inconsistent; a sweep corrects the account once it has not changed for a minute.
 * If a tenant is never quiet when a sweep comes, its account stays inconsistent.
 */
export class ConversationAccounts {
  readonly #rows: ConversationRows;
  /** One call of a tenant at a time in this process: of many at once, all but one would lose. */
  readonly #gates = new Map<TenantId, Gate>();

  constructor(rows: ConversationRows) {
    this.#rows = rows;
  }

  /** @throws RepriseError `broker_unavailable` */
  async countOf(tenant: TenantId): Promise<number> {
    return (await this.#read(tenant)).count;
  }

  /**
   * @param most how many the tenant may have; undefined for what only gives back
   * @throws RepriseError `limit_exceeded`, `broker_unavailable`
   */
  async add(tenant: TenantId, change: number, most?: number): Promise<void> {
    const gate = this.#gates.get(tenant) ?? { turns: new Semaphore(1), calls: 0 };
    this.#gates.set(tenant, gate);
    gate.calls++;
    try {
      await gate.turns.run(() => this.#change(tenant, change, most));
    } finally {
      if (--gate.calls === 0) this.#gates.delete(tenant);
    }
  }

  #change(tenant: TenantId, change: number, most: number | undefined): Promise<void> {
    const account = {
      read: () => this.#read(tenant),
      write: (conversations: number, at: StreamSeq) =>
        this.#rows.write(
          conversationAccountSubject(tenant),
          { version: 1, kind: "account", conversations },
          at,
        ),
    };
    return changeAccount(account, change, (next) => {
      if (most !== undefined && next > most) throw quotaReached(most);
    });
  }

  async #read(tenant: TenantId) {
    const { row, at } = await this.#rows.readSubject(conversationAccountSubject(tenant));
    return { count: row?.kind === "account" ? row.conversations : 0, at };
  }
}

function quotaReached(most: number): RepriseError {
  const message = `The tenant has ${most} conversations, the most that it may have: delete some.`;
  return new RepriseError("limit_exceeded", message, { param: "conversations.max", retryAfterMs: RETRY_MS });
}
