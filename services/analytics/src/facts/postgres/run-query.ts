/** Runs one statement. What is not of this code is in `values`, never in `text`. */
export type RunQuery = (text: string, values?: readonly unknown[]) => Promise<QueryOutcome>;

export interface QueryOutcome {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** How many rows the statement has changed or found. */
  readonly rowCount: number;
}
