import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { UsageEvent } from "@reprise/metering";
import { RepriseError } from "@reprise/protocol";
import type { TimeWindow } from "./time-windows.ts";

const NAME = /^usage-(\d{4}-\d{2}-\d{2})\.ndjson$/;
const DAY_US = 86_400_000_000;

/**
 * The usage events of generations that ended in a window, in the order of their files: `createFileSink`. A line that is none counts as not there: a process that dies while it
 * writes leaves a part of one, and the event comes again behind it.
 * @throws RepriseError `archive_unavailable`
 */
export async function* readUsageFiles(
  dir: string,
  { fromUs, toUs }: TimeWindow,
): AsyncGenerator<{ event: UsageEvent; endedUs: number }> {
  const names = await readdir(dir).catch((cause: unknown) => {
    throw new RepriseError("archive_unavailable", `The usage files in ${dir} can't be read.`, { cause });
  });
  for (const name of names.toSorted()) {
    const dayUs = Date.parse(NAME.exec(name)?.[1] ?? "") * 1_000;
    if (!(dayUs < toUs && dayUs + DAY_US > fromUs)) continue;
    for await (const text of createInterface({ input: createReadStream(join(dir, name)) })) {
      const event = parseLine(text);
      const endedUs = event ? Date.parse(event.time) * 1_000 : Number.NaN;
      if (event && endedUs >= fromUs && endedUs < toUs) yield { event, endedUs };
    }
  }
}

function parseLine(text: string): UsageEvent | undefined {
  try {
    const event = JSON.parse(text) as Partial<UsageEvent> | null;
    const isEvent =
      typeof event?.id === "string" && typeof event.subject === "string" && typeof event.data === "object";
    return isEvent ? (event as UsageEvent) : undefined;
  } catch {
    return undefined;
  }
}
