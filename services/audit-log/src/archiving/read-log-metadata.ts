import { conversationOwner, decodeEvent, hasText, isTerminal, peekType } from "@reprise/protocol";
import type { SegmentHeader } from "@reprise/archive";
import { metadataTag, subjectTag } from "../records/search-tags.ts";
import type { Group } from "./lane/group-messages.ts";

/** The fields of a generation's request that are stored unsealed. */
export interface LogMetadata {
  readonly model: string;
  /** The name whose key seals the log: its conversation, or its subject. */
  readonly subject: string | undefined;
  /** Texts whose keyed hashes can be searched for. */
  readonly tagged: readonly string[];
}

/** Returns undefined unless the group begins with a readable seq 0 of a log. */
export function readLogMetadata({ firstSeq, messages }: Group): LogMetadata | undefined {
  // A group has at least one message.
  const payload = messages[0]!.payload;
  if (firstSeq !== 0 || peekType(payload) !== "generation.requested") return undefined;
  const request = fieldsOf(readEvent(payload)["request"]);
  const { model, metadata } = request;
  if (typeof model !== "string") return undefined;
  const pairs = Object.entries(fieldsOf(metadata)).flatMap(([key, value]) =>
    typeof value === "string" ? [metadataTag(key, value)] : [],
  );
  const owners = ownersOf(request);
  return { model, subject: owners[0], tagged: [...pairs, ...owners.map(subjectTag)] };
}

/**
 * Lists the names by which a generation is erased. The key of the first one seals it: a turn of a conversation has the words of others in it, and
 * is erased with all of them, or with its person.
 */
export function ownersOf({ conversation, subject }: Fields): string[] {
  return [
    ...(typeof conversation === "string" ? [conversationOwner(conversation)] : []),
    ...(typeof subject === "string" ? [subject] : []),
  ];
}

/** Reads the end of a log; returns no fields if the group does not hold it. Annotations may follow the end. */
export function readEnd({ messages }: Group): Pick<SegmentHeader, "status" | "output_tokens"> {
  for (const { payload } of messages.toReversed()) {
    const type = peekType(payload);
    if (hasText(type)) return {};
    if (!isTerminal(type)) continue;
    const { output_tokens: tokens } = fieldsOf(readEvent(payload)["usage"]);
    const status =
      type === "generation.completed" ? "completed" : type === "generation.failed" ? "failed" : "cancelled";
    return { status, ...(isCount(tokens) && { output_tokens: tokens }) };
  }
  return {};
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns no fields for a malformed event: it is archived as it is, and stops no lane. */
function readEvent(payload: Uint8Array): Fields {
  try {
    return fieldsOf(decodeEvent(payload));
  } catch {
    return {};
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
