import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { UsageData, UsageEvent } from "@reprise/metering";
import { RepriseError } from "@reprise/protocol";
import type { TimeWindow } from "./time-windows.ts";

const NAME = /^usage-(\d{4}-\d{2}-\d{2})\.ndjson$/;
const DAY_US = 86_400_000_000;

/** An event as a file has it, which may have been tampered with. */
export interface FoundUsage {
  readonly event: Omit<UsageEvent, "data"> & { readonly data: Readonly<Record<string, unknown>> };
  /** Undefined where it is not what a meter could count. */
  readonly usage: UsageData | undefined;
  readonly endedUs: number;
}

/**
 * The usage events of generations that ended in a window, in the order of their files: `createFileSink`. A line that is none counts as not there: a process that dies while it
 * writes leaves a part of one, and the event comes again after it.
 * @throws RepriseError `archive_unavailable`
 */
export async function* readUsageFiles(dir: string, { fromUs, toUs }: TimeWindow): AsyncGenerator<FoundUsage> {
  const names = await readdir(dir).catch((cause: unknown) => {
    throw new RepriseError("archive_unavailable", `The usage files in ${dir} can't be read.`, { cause });
  });
  for (const name of names.toSorted()) {
    const dayUs = Date.parse(NAME.exec(name)?.[1] ?? "") * 1_000;
    if (!(dayUs < toUs && dayUs + DAY_US > fromUs)) continue;
    for await (const text of createInterface({ input: createReadStream(join(dir, name)) })) {
      const event = parseLine(text);
      const endedUs = event ? Date.parse(event.time) * 1_000 : Number.NaN;
      if (event && endedUs >= fromUs && endedUs < toUs) yield { event, usage: toUsage(event.data), endedUs };
    }
  }
}

function parseLine(text: string): FoundUsage["event"] | undefined {
  try {
    const event = JSON.parse(text) as Partial<UsageEvent> | null;
    if (typeof event?.id !== "string" || typeof event.subject !== "string") return undefined;
    // Something else in place of its data is an event that differs, not one that is missing.
    const data: unknown = event.data;
    return { ...(event as UsageEvent), data: isObject(data) ? data : {} };
  } catch {
    return undefined;
  }
}

const COUNTS = ["output_tokens", "output_tokens_kept"] as const;
const OPTIONAL_COUNTS = ["input_tokens", "cached_input_tokens", "reasoning_tokens"] as const;

function toUsage(data: Readonly<Record<string, unknown>>): UsageData | undefined {
  const { model, requested_model: requested, metadata } = data;
  const isCounted =
    COUNTS.every((name) => Number.isSafeInteger(data[name])) &&
    OPTIONAL_COUNTS.every((name) => data[name] === null || Number.isSafeInteger(data[name]));
  const isNamed = typeof model === "string" && typeof requested === "string";
  return isCounted && isNamed && isObject(metadata) ? (data as unknown as UsageData) : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
