import type { StoredInput } from "@reprise/archive";
import {
  decodeEvent,
  encodeSseFrame,
  encodeSseRetry,
  type KnownEvent,
  SSE_RECONNECT_MS,
  type UnknownEvent,
} from "@reprise/protocol";
import type { ShownEvent } from "../answering/shown-events.ts";

export const REPLAY_FORMATS = ["sse", "text", "json"] as const;
export type ReplayFormat = (typeof REPLAY_FORMATS)[number];

/** Returns the text before the first event: for a stream, the same as the live endpoint's. */
export function formatBeginning(format: ReplayFormat): string {
  return format === "sse" ? encodeSseRetry(SSE_RECONNECT_MS) : "";
}

/**
 * One event as it is written out. `sse`: byte for byte what the live endpoint sends. `json`: a line with its cursor and time. `text`: what it adds to
 * the first output, or to a refusal; what takes text back, which is written already, says so on a line of its own.
 */
export function formatEvent(format: ReplayFormat, event: ShownEvent): string {
  const payload = Buffer.from(event.payload).toString();
  switch (format) {
    case "sse":
      return encodeSseFrame(event.cursor, payload);
    case "json":
      return `{"cursor":"${event.cursor}","at":"${toIsoMicros(event.storedAtUs)}","event":${payload}}\n`;
    case "text":
      return toText(decodeEvent(payload));
  }
}

/** One record of an input log as it is written out. `text` leaves sound out. */
export function formatInput(format: Exclude<ReplayFormat, "sse">, input: StoredInput): string {
  if (format === "json") return `{"at":"${toIsoMicros(input.storedAtUs)}","input":${inputJson(input)}}\n`;
  const { entry } = input;
  if (entry.type === "input.clear") return "\n[the text since the last commit is taken back]\n";
  return entry.type === "input.delta" ? entry.text : "\n".repeat(Number(entry.type !== "input.audio"));
}

/** Sound is base64, as a client sends it. */
export function inputJson({ first, seq, entry }: StoredInput): string {
  const audio = entry.type === "input.audio" && { audio: Buffer.from(entry.audio).toString("base64") };
  return JSON.stringify({ first, seq, ...entry, ...audio });
}

/** ISO 8601, UTC, with microseconds. */
export function toIsoMicros(us: number): string {
  const ms = new Date(Math.floor(us / 1_000)).toISOString().slice(0, -1);
  return `${ms}${String(us % 1_000).padStart(3, "0")}Z`;
}

function toText(event: KnownEvent | UnknownEvent): string {
  switch (event.type) {
    case "output.delta":
      return (event.output ?? 0) === 0 ? event.text : "";
    case "refusal.delta":
      return event.text;
    case "output.rewind":
      return `\n[what came after event ${event.to_seq} does not count: ${event.reason}]\n`;
    case "moderation.redacted":
      return `\n[events ${event.from_seq} to ${event.to_seq} read "${event.replacement}" from here on]\n`;
    case "moderation.halted":
      return `\n[from event ${event.from_seq} on it reads "${event.replacement}"]\n`;
    case "generation.completed":
    case "generation.failed":
    case "generation.cancelled":
      return "\n";
    default:
      return "";
  }
}
