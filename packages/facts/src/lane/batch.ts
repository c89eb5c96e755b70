import type { StreamSeq } from "@reprise/protocol";
import type { StreamRange } from "@reprise/archive";
import type { StreamMessage } from "@reprise/broker";

/** A range of a stream, as it was read. */
export interface Batch {
  readonly stream: string;
  readonly epoch: number;
  /** When the broker made the stream. RFC 3339. */
  readonly created: string;
  /** Everything from `first` to `last` is in `messages` or `missing`. */
  readonly first: StreamSeq;
  readonly last: StreamSeq;
  readonly messages: readonly StreamMessage[];
  /** Places at which nothing is any more. */
  readonly missing: readonly StreamRange[];
  /** Those of them that retention may have emptied: what lay there could have been stored longer ago than the stream keeps anything. */
  readonly maybeExpired: readonly StreamRange[];
}
