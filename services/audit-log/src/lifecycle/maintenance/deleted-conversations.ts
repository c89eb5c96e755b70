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

/**
 * Erases the generations of conversations that were deleted, and then their rows. What a legal hold or a tenant's minimum forbids is tried again in the
 * next round. Rows are read once, and again when they have changed: there may be a million of them.
 */
export class DeletedConversations {
  #after = STREAM_START;
  readonly #waiting = new Map<string, DeletedRow>();

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
    for (const [subject, { tenant, row, at }] of this.#waiting) {
      const minDays = minDaysOf(tenant);
      if (minDays === undefined) continue;
      try {
        await eraseSubject(context, toRequest(tenant, row, minDays), options);
        await rows.remove(subject, at);
        await clearRows(live);
        this.#waiting.delete(subject);
      } catch (error) {
        options.signal?.throwIfAborted();
        onError(error);
      }
    }
  }
}

interface DeletedRow {
  readonly tenant: TenantId;
  readonly row: DeletedConversation;
  readonly at: StreamSeq;
}

function toRequest(tenant: TenantId, { id, by, head }: DeletedConversation, minDays: number): ErasureRequest {
  const further = head === undefined ? [] : [head];
  return { tenant, subject: conversationOwner(id), further, by, reason: "conversation deleted", minDays };
}
