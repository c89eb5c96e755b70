import { peekType } from "../event/event-codec.ts";
import { toLineJson } from "../json/to-line-json.ts";
import { RepriseError } from "../errors/reprise-error.ts";
import type { Seq } from "../seq.ts";

/**
 * One entry of an input log, as a client sends it. `input.commit` ends a message or an utterance, `input.clear` takes back what was said since the
 * last one, `input.end` is the last entry of all.
 */
export type InputEntry =
  | { readonly type: "input.delta"; readonly text: string }
  | { readonly type: "input.audio"; readonly audio: Uint8Array }
  | { readonly type: "input.commit" }
  | { readonly type: "input.clear" }
  | { readonly type: "input.end" };

/**
 * One message of an input log: the entries from `first` to `seq`, which are merged if they are several. A client numbers its entries from 1, and a record
 * has the number of its last entry, so that the numbers of records increase, and no entry is in two of them.
 */
export interface InputRecord {
  readonly first: Seq;
  readonly seq: Seq;
  /** Bytes of text, in UTF-8, and of sound in all entries before. */
  readonly at: number;
  /** The last `input.commit` among these entries and those before; 0 for none. */
  readonly committed: Seq;
  readonly entry: InputEntry;
}

const encoder = /* @__PURE__ */ new TextEncoder();
const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const LF = 0x0a;

/** Bytes of an entry that count: those of its text, in UTF-8, or of its sound. */
export function inputBytes(entry: InputEntry): number {
  if (entry.type === "input.audio") return entry.audio.length;
  return entry.type === "input.delta" ? encoder.encode(entry.text).length : 0;
}

/** A record as it is stored: one line of JSON, `seq` first and `type` second as in an event. Sound follows the line as bytes. */
export function encodeInput({ first, seq, at, committed, entry }: InputRecord): Uint8Array {
  const { type } = entry;
  const text = entry.type === "input.delta" ? { text: entry.text } : {};
  const line = encoder.encode(toLineJson({ seq, type, first, at, committed, ...text }));
  if (entry.type !== "input.audio") return line;
  const record = new Uint8Array(line.length + 1 + entry.audio.length);
  record.set(line);
  record[line.length] = LF;
  record.set(entry.audio, line.length + 1);
  return record;
}

/**
 * Decodes a record. Sound is a view of the payload.
 * @throws RepriseError `protocol_violation` for bytes that `encodeInput` has not made
 */
export function decodeInput(payload: Uint8Array): InputRecord {
  const isAudio = peekType(payload) === "input.audio";
  const end = isAudio ? payload.indexOf(LF) : payload.length;
  const { type, text = "", ...place } = parseLine(payload.subarray(0, end));
  switch (type) {
    case "input.delta":
      return { ...place, entry: { type, text } };
    case "input.audio":
      return { ...place, entry: { type, audio: payload.subarray(end + 1) } };
    case "input.commit":
    case "input.clear":
    case "input.end":
      return { ...place, entry: { type } };
    default:
      throw notARecord();
  }
}

interface Line extends Omit<InputRecord, "entry"> {
  readonly type: InputEntry["type"];
  readonly text?: string;
}

function parseLine(line: Uint8Array): Line {
  try {
    return JSON.parse(decoder.decode(line)) as Line;
  } catch {
    throw notARecord();
  }
}

function notARecord(): RepriseError {
  return new RepriseError("protocol_violation", "A message of an input log can't be decoded.");
}
