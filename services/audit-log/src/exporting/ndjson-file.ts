import { createWriteStream } from "node:fs";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { toIsoMicros } from "../replaying/replay-format.ts";
import type { RowFile } from "./row-file.ts";

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
