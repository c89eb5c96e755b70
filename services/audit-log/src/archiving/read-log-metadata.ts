import { conversationOwner, decodeEvent, hasText, isTerminal, peekType } from "@reprise/protocol";
import type { SegmentHeader } from "@reprise/archive";
import { metadataTag, subjectTag } from "../records/search-tags.ts";
import type { Group } from "./lane/group-messages.ts";

/** The fields of a generation's request that are kept outside of what is sealed. */
export interface LogMetadata {
  readonly model: string;
  /** Whose key seals it: that of its conversation, or of its subject. */
  readonly subject: string | undefined;
  /** Texts whose keyed hashes can be searched for. */
  readonly tagged: readonly string[];
}

/** Undefined unless the group begins with a log's seq 0, and that can be read. */
export function readLogMetadata({ firstSeq, messages }: Group): LogMetadata | undefined {
  // A group is made for a message, and holds it.
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
 * By which names a generation is erased. The first one's key seals it: a turn of a conversation has the words of others in it, and is erased
 * with all of them, or as a person's.
 */
export function ownersOf({ conversation, subject }: Fields): string[] {
  return [
    ...(typeof conversation === "string" ? [conversationOwner(conversation)] : []),
    ...(typeof subject === "string" ? [subject] : []),
  ];
}

/** How a log has ended; nothing when the group does not hold its end. Annotations may follow that. */
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

/** No fields of a malformed event: it is archived as it is, and stops no lane. */
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
