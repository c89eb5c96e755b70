import { open } from "node:fs/promises";
import { join } from "node:path";
import { ensurePrivateDir } from "@reprise/runtime";
import type { UsageSink } from "./usage-sink.ts";

const DAY_CHARS = "2026-11-23".length;
const NEWLINE = 0x0a;

/** NDJSON, a file for each day in which generations have ended. What is delivered is on the disk. */
export function createFileSink(dir: string): UsageSink {
  return {
    name: "file",
    async deliver({ events }) {
      await ensurePrivateDir(dir);
      const byDay = Map.groupBy(events, ({ time }) => time.slice(0, DAY_CHARS));
      for (const [day, ofDay] of byDay) {
        await using file = await open(join(dir, `usage-${day}.ndjson`), "a+", 0o600);
        const { size } = await file.stat();
        const { buffer: last } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
        // A process that has died in the middle of a line has left a part of one.
        const begin = size > 0 && last[0] !== NEWLINE ? "\n" : "";
        await file.appendFile(begin + ofDay.map((event) => `${JSON.stringify(event)}\n`).join(""));
        await file.sync();
      }
    },
  };
}
