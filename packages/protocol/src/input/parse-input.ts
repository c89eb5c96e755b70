import * as z from "zod";
import { RepriseError } from "../errors/reprise-error.ts";
import { LIMITS } from "../request/fields/limits.ts";
import { parseWith } from "../request/request.ts";
import { asSeq, type Seq } from "../seq.ts";
import type { InputFormat } from "../request/fields/input-format.ts";
import { inputBytes, type InputEntry } from "./input-record.ts";

/** Base64 has four characters for three bytes. */
const MAX_BASE64 = Math.ceil(LIMITS.inputEntryBytes / 3) * 4;

const entrySchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("input.delta"), text: z.string().min(1) }),
  z.strictObject({ type: z.literal("input.audio"), audio: z.base64().min(4).max(MAX_BASE64) }),
  z.strictObject({ type: z.enum(["input.commit", "input.clear", "input.end"]) }),
]);

const appendSchema = z.strictObject({
  /** Number of the first entry; entries are numbered from 1. */
  first: z.int().min(1),
  entries: z.array(entrySchema).min(1).max(LIMITS.inputEntries),
});

export interface InputAppend {
  readonly first: Seq;
  readonly entries: readonly InputEntry[];
}

/**
 * Parses the body of `POST /v1/generations/{id}/input`.
 * @throws RepriseError `invalid_request` that names the first wrong field in `param`, also for an entry that the format does not have
 */
export function parseInputAppend(body: unknown, format: InputFormat): InputAppend {
  const { first, entries: parsed } = parseWith(appendSchema, body);
  const entries = parsed.map((entry): InputEntry =>
    entry.type === "input.audio" ? { type: entry.type, audio: decodeBase64(entry.audio) } : entry,
  );
  for (const [i, entry] of entries.entries()) {
    if (entry.type === "input.end" && i < entries.length - 1)
      throw refused(`entries.${i + 1}`, "follows input.end, which is the last entry");
    assertFits(entry, format, `entries.${i}`);
  }
  return { first: asSeq(first), entries };
}

function assertFits(entry: InputEntry, format: InputFormat, at: string): void {
  const other = format === "text" ? "input.audio" : "input.delta";
  if (entry.type === other)
    throw refused(`${at}.type`, `is ${other}, and the format of the input is ${format}`);
  const bytes = inputBytes(entry);
  if (bytes > LIMITS.inputEntryBytes)
    throw refused(at, `has ${bytes} bytes; one entry has at most ${LIMITS.inputEntryBytes}`);
}

function decodeBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

function refused(param: string, problem: string): RepriseError {
  return new RepriseError("invalid_request", `${param}: ${problem}`, { param });
}
