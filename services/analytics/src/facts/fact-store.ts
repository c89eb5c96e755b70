import type { LanePosition } from "@reprise/lane";
import type { DeliveryRow, EncodedConnection, GenerationRow } from "@reprise/metering";
import type { GenerationRef } from "@reprise/protocol";
import type { LaneFacts } from "./lane-facts.ts";
import type { RowSource } from "./row-source.ts";

/** Where the commits of all lanes are kept. */
export interface FactStore {
  /** @param stream of logs */
  lane(stream: string): LaneFacts;
  /** @param stream OPS */
  deliveries(stream: string): LaneFacts<DeliveryRow, EncodedConnection>;
  /**
   * Where the lane of a stream stood at its newest commit, as far as it is known: for processes that do not consume it. Undefined before the first one.
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  newest(stream: string): Promise<LanePosition | undefined>;
  outbox(sink: string, stream: string): Outbox;
  /**
   * Takes the metadata of generations out of their rows and of the folds that they were: it is the only text of a client in either.
   * @param rows of this store
   * @returns how many rows it has changed: 0 when called again
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  forget(stream: string, refs: readonly GenerationRef[], rows: RowSource): Promise<number>;
  /** Undefined where there is nothing to be tidied. */
  tidier(stream: string): Tidier | undefined;
}

/** Puts commits in order that no lane can begin behind any more. */
export interface Tidier {
  /**
   * @returns how much it has done; 0 for nothing
   * @throws RepriseError `archive_unavailable`, `archive_corrupt`
   */
  tidy(options: TidyOptions): Promise<number>;
}

export interface TidyOptions {
  /** Nothing in the stream is older: microseconds since 1970, by the broker's clock. Undefined where nothing expires. */
  readonly expiredBeforeUs: number | undefined;
  /** Asked between two steps: ends the round. */
  readonly isOver?: () => boolean;
}

/**
 * The commits of one stream as what a sink still has to get. Superseded ones are among them.
 *
 * All methods throw RepriseError `archive_unavailable` when the store can't be reached.
 */
export interface Outbox {
  /** The first commit that was not delivered whole. @throws RepriseError `archive_corrupt` */
  place(): Promise<number>;
  /** The rows of a commit, in its order. Undefined: it is not there yet. */
  rowsOf(n: number): Promise<readonly GenerationRow[] | undefined>;
  /** Everything before `next` was delivered. */
  advance(next: number): Promise<void>;
}
