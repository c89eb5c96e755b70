import type { StreamSeq } from "@reprise/protocol";
import type { Review } from "../domain/reviews.ts";
import { retryListing, type RetryListingOptions } from "./retry-listing.ts";

interface ReviewListingsOptions extends RetryListingOptions {
  /** Called for a review that can't be listed, which no reviewer could decide. */
  readonly onFailed: (error: unknown) => void;
}

/** The reviews of one generation that are being listed, until the signal is aborted. */
export class ReviewListings {
  readonly #options: ReviewListingsOptions;
  /** By review: where the log was when it was found. */
  readonly #places = new Map<string, StreamSeq>();

  constructor(options: ReviewListingsOptions) {
    this.#options = options;
  }

  /** The first place of the log at which a review is not listed yet. It must not be settled: no other process would list that review. */
  get from(): StreamSeq | undefined {
    const [first, ...others] = this.#places.values();
    return first === undefined ? undefined : Math.min(first, ...others);
  }

  /** @param streamSeq where the log was when the review was found */
  list(review: Review, streamSeq: StreamSeq): void {
    const { reviewId } = review;
    if (this.#places.has(reviewId)) return;
    this.#places.set(reviewId, streamSeq);
    retryListing(this.#options, review)
      .catch(this.#options.onFailed)
      .finally(() => this.#places.delete(reviewId));
  }
}
