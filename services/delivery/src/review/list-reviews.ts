import { type Broker } from "@reprise/broker";
import { type GenerationLog, isExpiredOrErased } from "@reprise/stream";
import { type ListedReview, reviewList } from "@reprise/moderation";
import {
  type GenerationRef,
  RepriseError,
  type TenantId,
  type StreamSeq,
  STREAM_START,
  asStreamSeq,
} from "@reprise/protocol";
import { decodeAll, historyOf, type Review, toReview } from "./review.ts";
import { passageOf, type ReviewPassage } from "./review-passage.ts";

export interface OpenReview extends Review, ReviewPassage {
  readonly created_at: string;
}

export interface ReviewList {
  readonly object: "list";
  readonly reviews: readonly OpenReview[];
  /** The `after` of the next page; absent from the last. */
  readonly cursor?: string;
}

export interface ListOptions {
  readonly log: GenerationLog;
  readonly broker: Broker;
  readonly tenant: TenantId;
  /** The most reviews, 1 to 100. A page may hold fewer though there are more. */
  readonly limit: number;
  /** A `cursor`; undefined for the first page. */
  readonly after: string | undefined;
}

/**
 * A page of a tenant's open reviews, those that have waited longest first. The index names their logs, and the
 * logs decide: a decided review is left out, though the index may list it for a moment longer.
 * @throws RepriseError `cursor_invalid`, `broker_unavailable`
 */
export async function listReviews({ log, broker, tenant, limit, after }: ListOptions): Promise<ReviewList> {
  const page = await reviewList.read(broker.reads, tenant, { limit, after: parseListCursor(after) });
  const open = new Map<string, OpenReview>();
  // One log at a time: together they may be too large for memory.
  for (const listed of Map.groupBy(page.reviews, ({ ref }) => ref.generation).values())
    for (const review of await readOpenReviews(log, listed)) open.set(review.id, review);
  const reviews = page.reviews.flatMap(
    ({ ref, reviewId }) => open.get(`${ref.generation}.${reviewId}`) ?? [],
  );
  return { object: "list", reviews, ...(page.more && { cursor: `${page.streamSeq}` }) };
}

/** @param listed reviews of one generation */
async function readOpenReviews(log: GenerationLog, listed: readonly ListedReview[]): Promise<OpenReview[]> {
  // A group of `Map.groupBy` has at least one review.
  const { ref } = listed[0]!;
  const events = decodeAll(await readLogIfKept(log, ref));
  return listed.flatMap(({ reviewId, record }) => {
    const history = historyOf(events, reviewId);
    if (!history || history.reviewed) return [];
    const { review } = history;
    const { created_at } = record;
    return [{ ...toReview(ref.generation, review), ...passageOf(events, review), created_at }];
  });
}

async function readLogIfKept({ reader }: GenerationLog, ref: GenerationRef): Promise<Uint8Array[]> {
  try {
    return (await reader.readLog(ref)).events;
  } catch (error) {
    if (isExpiredOrErased(error)) return [];
    throw error;
  }
}

export function parseListCursor(cursor: string | undefined): StreamSeq {
  if (cursor === undefined || cursor === "") return STREAM_START;
  if (/^[1-9][0-9]{0,14}$/.test(cursor)) return asStreamSeq(Number(cursor));
  throw new RepriseError("cursor_invalid", "This cursor is of no list of reviews.", { param: "after" });
}
