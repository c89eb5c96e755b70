import {
  type ConversationId,
  type ConversationRow,
  CONVERSATIONS_STREAM,
  CONVERSATIONS_SUBJECTS,
  conversationNotFound,
  type ConversationRecord,
  conversationSubject,
  decodeConversationRow,
  encodeConversationRow,
  plus,
  STREAM_START,
  type StreamSeq,
  tenantConversationSubjects,
  type TenantId,
  type UnixMs,
  unixNow,
} from "@reprise/protocol";
import { askPatiently, readAllPatiently, type RowBroker, storeAfter } from "@reprise/stream";
import { purgeSubject, readLastRaw, readStreamBatch } from "@reprise/broker";

/** A row of CONVERSATIONS as its leader has it. */
export interface PlacedConversation {
  /** Undefined where there is none, or none that this process can read. */
  readonly row: ConversationRow | undefined;
  /** Where the subject's last message lies; `STREAM_START` for none. */
  readonly at: StreamSeq;
}

/** A conversation that is there, and where its row lies. */
export interface FoundConversation {
  readonly row: ConversationRecord;
  readonly at: StreamSeq;
}

export interface ListedConversation {
  readonly subject: string;
  readonly row: ConversationRow;
  readonly at: StreamSeq;
  readonly storedAtUs: number;
}

export interface ConversationPage {
  readonly rows: readonly ConversationRecord[];
  /** Start of the next page; undefined if this is the last page. */
  readonly next: StreamSeq | undefined;
}

const BATCH = { maxMessages: 256, maxBytes: 256 * 1_024 };
/** Maximum rows that one page scans for the rows it wants. */
const MOST_SCANNED = 2_048;

/** Rows of CONVERSATIONS: each is changed by compare-and-set. All methods ask again for the broker's budget, and throw RepriseError `broker_unavailable` then. */
export class ConversationRows {
  readonly #broker: RowBroker;

  constructor(broker: RowBroker) {
    this.#broker = broker;
  }

  async readSubject(subject: string): Promise<PlacedConversation> {
    const last = await askPatiently(this.#broker, () =>
      readLastRaw(this.#broker.reads, CONVERSATIONS_STREAM, subject),
    );
    if (!last) return { row: undefined, at: STREAM_START };
    return { row: last.isPublished ? decodeConversationRow(last.payload) : undefined, at: last.streamSeq };
  }

  read(tenant: TenantId, id: ConversationId): Promise<PlacedConversation> {
    return this.readSubject(conversationSubject(tenant, id));
  }

  /**
   * A conversation of this tenant that is neither over nor deleted.
   * @param nowMs by the clock of this process
   * @throws RepriseError `conversation_not_found`, `broker_unavailable`
   */
  async find(tenant: TenantId, id: ConversationId, nowMs: UnixMs = unixNow()): Promise<FoundConversation> {
    const { row, at } = await this.read(tenant, id);
    if (row?.kind !== "conversation" || row.id !== id || isOver(row, nowMs)) throw conversationNotFound();
    return { row, at };
  }

  /** @returns where it lies; undefined where the row has changed since it was read */
  write(subject: string, row: ConversationRow, expectedLast: StreamSeq): Promise<StreamSeq | undefined> {
    const payload = encodeConversationRow(row);
    return storeAfter(this.#broker, { stream: CONVERSATIONS_STREAM, subject, payload, expectedLast });
  }

  /** Takes a row away that lies there, and none that came later. */
  remove(subject: string, at: StreamSeq): Promise<void> {
    return askPatiently(this.#broker, () =>
      purgeSubject(this.#broker.reads, CONVERSATIONS_STREAM, subject, plus(at, 1)),
    );
  }

  /**
   * All rows, or those under a subject with wildcards, in the order in which they were last changed. A row that changes meanwhile may come twice.
   * @param afterStreamSeq start after this stream sequence. Default: at the beginning
   */
  async *list(
    subject: string = CONVERSATIONS_SUBJECTS,
    afterStreamSeq: StreamSeq = STREAM_START,
  ): AsyncGenerator<ListedConversation> {
    const request = { ...BATCH, afterStreamSeq, subject };
    const { reads } = this.#broker;
    for await (const message of readAllPatiently(this.#broker, reads, CONVERSATIONS_STREAM, request)) {
      const row = decodeConversationRow(message.payload);
      const { subject: of, streamSeq: at, storedAtUs } = message;
      if (row) yield { subject: of, row, at, storedAtUs };
    }
  }

  /**
   * Some of a tenant's conversations, in the order in which they were last changed. One that changes meanwhile comes again later. A page may
   * have none and be followed by more.
   */
  async page(
    tenant: TenantId,
    {
      after,
      limit,
      isWanted,
    }: {
      readonly after: StreamSeq;
      readonly limit: number;
      readonly isWanted: (row: ConversationRecord) => boolean;
    },
  ): Promise<ConversationPage> {
    const rows: ConversationRecord[] = [];
    let next = after;
    for (let scanned = 0, more = true; more && scanned < MOST_SCANNED;) {
      const request = { ...BATCH, afterStreamSeq: next, subject: tenantConversationSubjects(tenant) };
      const batch = await askPatiently(this.#broker, () =>
        readStreamBatch(this.#broker.reads, CONVERSATIONS_STREAM, request),
      );
      for (const [i, { payload, streamSeq }] of batch.messages.entries()) {
        const row = decodeConversationRow(payload);
        next = streamSeq;
        scanned++;
        if (row?.kind !== "conversation" || !isWanted(row)) continue;
        const { items: _, ...listed } = row;
        rows.push(listed);
        if (rows.length < limit) continue;
        return { rows, next: batch.more || i + 1 < batch.messages.length ? next : undefined };
      }
      more = batch.more;
      if (!more) return { rows, next: undefined };
    }
    return { rows, next };
  }
}

export function isOver({ expires_at }: { readonly expires_at: string }, nowMs: number): boolean {
  return Date.parse(expires_at) <= nowMs;
}
