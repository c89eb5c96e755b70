import { decodeEvent, isTerminal, type KnownEvent, peekType } from "@reprise/protocol";
import type { SegmentHeader } from "@reprise/archive";
import type { Group } from "./group-messages.ts";

/** What the request says of a generation, as far as it is kept outside of what is sealed. */
export interface FirstWords {
  readonly model: string;
  readonly subject: string | undefined;
  /** Texts whose keyed hashes can be searched for. */
  readonly tagged: readonly string[];
}

/** How a metadata pair is searched for. */
export function metadataTag(key: string, value: string): string {
  return `metadata:${key}=${value}`;
}

/** How a person is searched for. */
export function subjectTag(subject: string): string {
  return `subject:${subject}`;
}

/** Undefined unless the group begins with a log's seq 0. */
export function readFirstWords({ firstSeq, messages }: Group): FirstWords | undefined {
  const payload = messages[0]!.payload;
  if (firstSeq !== 0 || peekType(payload) !== "generation.requested") return undefined;
  const event = decodeEvent(payload) as KnownEvent;
  if (event.type !== "generation.requested") return undefined;
  const { model, metadata = {}, subject } = event.request;
  const pairs = Object.entries(metadata).map(([key, value]) => metadataTag(key, value));
  return { model, subject, tagged: subject === undefined ? pairs : [...pairs, subjectTag(subject)] };
}

/** How a log has ended; nothing when the group does not hold its end. Annotations may follow that. */
export function readEnd({ messages }: Group): Pick<SegmentHeader, "status" | "output_tokens"> {
  for (const { payload } of messages.toReversed()) {
    const type = peekType(payload);
    if (type === "output.delta") return {};
    if (!isTerminal(type)) continue;
    const event = decodeEvent(payload) as KnownEvent;
    const tokens = "usage" in event ? event.usage?.output_tokens : undefined;
    const status =
      type === "generation.completed" ? "completed" : type === "generation.failed" ? "failed" : "cancelled";
    return { status, ...(tokens !== undefined && { output_tokens: tokens }) };
  }
  return {};
}
