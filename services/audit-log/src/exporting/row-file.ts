import type { Seq } from "@reprise/protocol";

/** One event of an export. */
export interface ExportRow {
  readonly tenant: string;
  readonly generation: string;
  readonly seq: Seq;
  /** When the broker stored it, microseconds since 1970. */
  readonly atUs: number;
  /** JSON. */
  readonly event: string;
}

/** A file that takes rows one by one, and holds few of them in memory. */
export interface RowFile {
  write(row: ExportRow): Promise<void>;
  /** Writes what is left. */
  close(): Promise<void>;
}
