import type { NatsConnection } from "@nats-io/transport-node";
import {
  type GenerationRef,
  parseReviewSubject,
  REVIEWS_STREAM,
  REVIEWS_SUBJECTS,
  reviewSubject,
  type TenantId,
  tenantReviewSubjects,
  type StreamSeq,
  type Seq,
  STREAM_START,
  type UnixMs,
  toUnixMs,
} from "@reprise/protocol";
import { type Publish, purgeSubject, readStreamBatch, type StreamMessage } from "@reprise/broker";

/*
 * Which reviews wait for an answer, over all generations. An index and no more: whether a review is open, and what it is about, its
 * generation's log says. Who decides one is told by the log too; an entry that outlives its review is passed over and removed.
 */

/** An index entry of a review. The text is in the log alone. */
export interface ReviewRecord {
  readonly rule: string;
  readonly category: string;
  readonly from_seq: Seq;
  readonly to_seq: Seq;
  readonly channel: string;
  /** Both RFC 3339, UTC. */
  readonly created_at: string;
  readonly expires_at: string;
}

export interface ListedReview {
  readonly ref: GenerationRef;
  readonly reviewId: string;
  readonly record: ReviewRecord;
  /** Its place in the list. */
  readonly streamSeq: StreamSeq;
}

interface ReviewsPage {
  /** In the order in which they were listed. */
  readonly reviews: readonly ListedReview[];
  /** Value of `after` for the next page. */
  readonly streamSeq: StreamSeq;
  /** True if there were more when the answer was made. */
  readonly more: boolean;
}

const BATCH_REVIEWS = 128;
const BATCH_BYTES = 256 * 1_024;

/** The list, in the stream `REVIEWS`. */
export const reviewList = {
  /**
   * Lists a review. One that is listed stays as it is, at its place.
   * @returns whether it is listed; without an answer it may be
   */
  async add(publish: Publish, ref: GenerationRef, reviewId: string, record: ReviewRecord): Promise<boolean> {
    const payload = new TextEncoder().encode(JSON.stringify(record));
    const { kind } = await publish(reviewSubject(ref, reviewId), payload, { expectedLast: STREAM_START });
    return kind !== "unavailable";
  },

  /**
   * Takes a review off the list, if it is there.
   * @throws RepriseError `broker_unavailable`
   */
  async remove(connection: NatsConnection, ref: GenerationRef, reviewId: string): Promise<void> {
    await purgeSubject(connection, REVIEWS_STREAM, reviewSubject(ref, reviewId));
  },

  /**
   * A page of one tenant's reviews, at most 128. A replica answers, so the newest may be missing. What is no record is passed over, so
   * a page may hold fewer than there are.
   * @param after the `streamSeq` of the page before; default `STREAM_START`
   * @throws RepriseError `broker_unavailable`
   */
  read(
    connection: NatsConnection,
    tenant: TenantId,
    { limit = BATCH_REVIEWS, after = STREAM_START }: { limit?: number; after?: StreamSeq } = {},
  ): Promise<ReviewsPage> {
    return readPage(connection, tenantReviewSubjects(tenant), Math.min(limit, BATCH_REVIEWS), after);
  },

  /**
   * Expired reviews of all tenants: walks the whole list, page by page, until `most` are found.
   * @throws RepriseError `broker_unavailable`
   */
  async readExpired(
    connection: NatsConnection,
    { nowMs, most = BATCH_REVIEWS }: { nowMs: UnixMs; most?: number },
  ): Promise<ListedReview[]> {
    const expired: ListedReview[] = [];
    for (let after = STREAM_START, more = true; more && expired.length < most;) {
      const page = await readPage(connection, REVIEWS_SUBJECTS, BATCH_REVIEWS, after);
      expired.push(...page.reviews.filter(({ record }) => toUnixMs(record.expires_at) <= nowMs));
      ({ streamSeq: after, more } = page);
    }
    return expired.slice(0, most);
  },
};

async function readPage(
  connection: NatsConnection,
  subject: string,
  maxMessages: number,
  afterStreamSeq: StreamSeq,
): Promise<ReviewsPage> {
  const request = { afterStreamSeq, subject, maxMessages, maxBytes: BATCH_BYTES };
  const { messages, more, streamSeq } = await readStreamBatch(connection, REVIEWS_STREAM, request);
  return { reviews: messages.flatMap(toListedReview), streamSeq, more };
}

function toListedReview({ subject, payload, streamSeq }: StreamMessage): ListedReview[] {
  const record = decodeReviewRecord(payload);
  if (!record) return [];
  try {
    return [{ ...parseReviewSubject(subject), record, streamSeq }];
  } catch {
    return [];
  }
}

/** Undefined for what `listReview` does not write. */
export function decodeReviewRecord(payload: Uint8Array): ReviewRecord | undefined {
  try {
    const value = JSON.parse(new TextDecoder().decode(payload)) as Record<keyof ReviewRecord, unknown>;
    const { rule, category, from_seq, to_seq, channel, created_at, expires_at } = value;
    if (!isText(rule) || !isText(category) || !isText(channel)) return undefined;
    if (!isSeq(from_seq) || !isSeq(to_seq) || !isTime(created_at) || !isTime(expires_at)) return undefined;
    return { rule, category, from_seq, to_seq, channel, created_at, expires_at };
  } catch {
    return undefined;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isTime(value: unknown): value is string {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function isSeq(value: unknown): value is Seq {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
