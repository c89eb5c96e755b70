import type { Review } from "../domain/reviews.ts";
import { retryListing } from "./retry-listing.ts";

interface Judging {
  readonly isClosed: boolean;
  /** Called for a review that can't be listed, which no reviewer could decide. */
  fail(error: unknown): void;
}

/** The reviews of one generation that are being listed, while it is judged on. */
export class ReviewListings {
  readonly #of: Parameters<typeof retryListing>[0];
  readonly #judging: Judging;
  /** By review: where the log was when it was found. */
  readonly #places = new Map<string, number>();

  constructor(of: Parameters<typeof retryListing>[0], judging: Judging) {
    this.#of = of;
    this.#judging = judging;
  }

  /** The first place of the log at which a review is not listed yet. It must not be settled: no other process would list that review. */
  get from(): number | undefined {
    return this.#places.size === 0 ? undefined : Math.min(...this.#places.values());
  }

  /** @param streamSeq where the log was when the review was found */
  list(review: Review, streamSeq: number): void {
    const { reviewId } = review;
    if (this.#places.has(reviewId)) return;
    this.#places.set(reviewId, streamSeq);
    retryListing(this.#of, review, () => this.#judging.isClosed)
      .catch((error: unknown) => this.#judging.fail(error))
      .finally(() => this.#places.delete(reviewId));
  }
}
