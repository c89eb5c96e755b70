import type { DeliveredRow, GenerationRow } from "@reprise/facts";
import type { TenantId } from "@reprise/protocol";

/** Which rows: of one tenant, or of all, by when their generations ended. */
export interface RowQuery {
  /** Undefined: of all. */
  readonly tenant: TenantId | undefined;
  /** Microseconds since 1970: from, and before. */
  readonly fromUs: number;
  readonly toUs: number;
  /** The model that served; where none began, the one that was asked for. */
  readonly model?: string | undefined;
  readonly status?: GenerationRow["status"] | undefined;
  /** Its id. */
  readonly generation?: string | undefined;
  /** Pairs that the metadata of a row has, all of them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** True to add the deliveries of generations to rows, as far as they are recorded by now. Default false. */
  readonly withDelivery?: boolean | undefined;
  /** A query that has more is refused before any is read. Default: any number. */
  readonly mostRows?: number | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** A part of a query's rows, the newest first. */
export interface RowPageQuery extends RowQuery {
  /** Only rows after this one. */
  readonly after?: RowPosition | undefined;
  readonly limit: number;
}

/** Place of a row: the end of its generation, and its id. */
export interface RowPosition {
  readonly endedUs: number;
  readonly generation: string;
}

/** Consumes rows, in any order. */
export interface RowConsumer {
  add(row: DeliveredRow): void;
}

/**
 * Reads the rows that count. What a query says is data for the database, never a part of a statement.
 *
 * All methods throw RepriseError `archive_unavailable` when the rows can't be read, and the reason of the query's signal when that aborts.
 */
export interface RowSource {
  /**
   * Feeds all rows, in no order, to the consumer that `create` returns.
   * @param create is called again if the read starts again
   * @throws RepriseError `invalid_request` for a query with more rows than its `mostRows`
   */
  read<C extends RowConsumer>(query: RowQuery, create: () => C): Promise<C>;
  page(query: RowPageQuery): Promise<DeliveredRow[]>;
  /** Returns the keys of objects that hold rows of these generations with metadata. */
  objectsOf(generations: readonly string[]): Promise<readonly string[]>;
}
