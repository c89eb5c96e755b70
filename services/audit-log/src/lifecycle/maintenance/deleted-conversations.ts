import {
  conversationOwner,
  type DeletedConversation,
  parseConversationSubject,
  STREAM_START,
  type StreamSeq,
  type TenantId,
} from "@reprise/protocol";
import { type ErasureRequest, eraseSubject } from "../erasure/erase.ts";
import type { FinishOptions } from "../erasure/finish-erasure.ts";
import type { LifecycleContext } from "../lifecycle-context.ts";
import { clearRows, rowsOf } from "../remove-conversations.ts";

/** Conversations of one tenant in a round: each is a scan of the archive and a wait, and all tenants share the rounds. */
const MOST_AT_ONCE = 4;

/**
 * Erases the generations of conversations that were deleted, and then their rows: in each round up to four of each tenant that had turns, the first that
 * were deleted first. What a legal hold or a tenant's minimum forbids is tried again in a later round. Rows are read once, and again when they have
 * changed: there may be a million of them.
 */
export class DeletedConversations {
  #after = STREAM_START;
  readonly #waiting = new Map<string, DeletedRow>();
  /** True if rows were removed whose text the stream's files may still have. */
  #hasRemoved = false;

  /** All rows are read again by the next call: a stream that was restored has changes that this process has not seen. */
  forget(): void {
    this.#after = STREAM_START;
    this.#waiting.clear();
  }

  /**
   * @param minDaysOf for how long a tenant must keep everything; undefined where that is not known: nothing of it is erased
   * @throws RepriseError `broker_unavailable`; the signal's reason
   */
  async erase(
    context: LifecycleContext,
    minDaysOf: (tenant: TenantId) => number | undefined,
    { onError, ...options }: FinishOptions & { readonly onError: (error: unknown) => void },
  ): Promise<void> {
    const { live } = context;
    if (!live) return;
    const rows = rowsOf(live);
    for await (const { subject, row, at } of rows.list(undefined, this.#after)) {
      this.#after = at;
      const tenant = parseConversationSubject(subject)?.tenant;
      if (row.kind === "deleted" && tenant) this.#waiting.set(subject, { tenant, row, at });
      else this.#waiting.delete(subject);
    }
    const tried = new Map<TenantId, number>();
    // A copy of the entries: one that fails moves to the end for the next round.
    const all = [...this.#waiting];
    for (const [subject, waiting] of all) {
      const { tenant, row, at } = waiting;
      const minDays = minDaysOf(tenant);
      if (minDays === undefined) continue;
      const before = tried.get(tenant) ?? 0;
      if (row.head !== undefined && before === MOST_AT_ONCE) continue;
      try {
        if (row.head !== undefined) {
          tried.set(tenant, before + 1);
          await eraseSubject(context, toRequest(tenant, row, minDays), options);
        }
        await rows.remove(subject, at);
        this.#hasRemoved = true;
        this.#waiting.delete(subject);
      } catch (error) {
        options.signal?.throwIfAborted();
        this.#waiting.delete(subject);
        this.#waiting.set(subject, waiting);
        onError(error);
      }
    }
    if (!this.#hasRemoved) return;
    try {
      await clearRows(live);
      this.#hasRemoved = false;
    } catch (error) {
      options.signal?.throwIfAborted();
      onError(error);
    }
  }
}

interface DeletedRow {
  readonly tenant: TenantId;
  readonly row: DeletedConversation;
  readonly at: StreamSeq;
}

function toRequest(
  tenant: TenantId,
  { id, by, head, summary }: DeletedConversation,
  minDays: number,
): ErasureRequest {
  const further = [head, summary].filter((generation) => generation !== undefined);
  return { tenant, subject: conversationOwner(id), further, by, reason: "conversation deleted", minDays };
}
