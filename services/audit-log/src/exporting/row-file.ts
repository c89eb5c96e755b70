import type { Seq } from "@reprise/protocol";
import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { toIsoMicros } from "../replaying/replay-format.ts";

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

/** One line per row: `tenant`, `generation`, `seq`, `at` (ISO 8601, microseconds) and `event`, which is the event itself. Appends to a file. */
export async function openNdjsonFile(path: string): Promise<RowFile> {
  const stream = createWriteStream(path, { flags: "a" });
  await once(stream, "open");
  return {
    async write({ tenant, generation, seq, atUs, event }) {
      const head = JSON.stringify({ tenant, generation, seq, at: toIsoMicros(atUs) });
      if (!stream.write(`${head.slice(0, -1)},"event":${event}}\n`)) await once(stream, "drain");
    },
    async close() {
      stream.end();
      await finished(stream);
    },
  };
}
