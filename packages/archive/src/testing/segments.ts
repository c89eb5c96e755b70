import { asSeq } from "@reprise/protocol";
import { createHash } from "node:crypto";
import { commitmentOf, type DataKey } from "../keys/keyring.ts";
import { sealSegment, type SegmentDraft } from "../segment/segment.ts";
import type { ArchivedMessage, Segment } from "../segment/segment-header.ts";

/** A key of its own for every name, the same at any time. */
export function testKey(name: string): DataKey {
  const key = createHash("sha256").update(name).digest();
  return { kid: key.toString("hex", 0, 8), key, commitment: commitmentOf(key) };
}

/**
 * Returns the header of a part of a log, without the given fields.
 * @param messages the first has seq 0, unless `first_seq` is given
 */
export function draftOf(
  messages: readonly ArchivedMessage[],
  given: Partial<SegmentDraft> = {},
): SegmentDraft {
  const [first, last] = [messages.at(0), messages.at(-1)];
  if (!first || !last) throw new RangeError("A segment of no messages.");
  const firstSeq = given.first_seq ?? 0;
  return {
    v: 1,
    tenant: "acme",
    generation: "gen_0_test",
    kind: "log",
    stream: "GENERATIONS_0",
    epoch: 0,
    first_stream_seq: first.streamSeq,
    last_stream_seq: last.streamSeq,
    events: messages.length,
    first_seq: asSeq(firstSeq),
    last_seq: asSeq(firstSeq + messages.length - 1),
    first_at: first.storedAtUs,
    last_at: last.storedAtUs,
    ...given,
  };
}

/**
 * A log in segments of `size` events, sealed with the generation's test key. Nonces are counted: do not use this where anything is
 * secret.
 */
export function sealLog(
  messages: readonly ArchivedMessage[],
  { size, ...given }: Partial<SegmentDraft> & { readonly size: number },
): Segment[] {
  const segments: Segment[] = [];
  for (let from = 0; from < messages.length; from += size) {
    const part = messages.slice(from, from + size);
    const isFirst = from === 0;
    const isLast = from + size >= messages.length;
    const draft = draftOf(part, {
      ...given,
      first_seq: asSeq(from),
      ...(isFirst && { model: "sim", tags: ["0123456789abcdef", "fedcba9876543210"] }),
      ...(isLast && { status: "completed" as const, output_tokens: messages.length - 3 }),
    });
    segments.push(sealSegment(draft, part, testKey(draft.generation), countedNonce(from)));
  }
  return segments;
}

function countedNonce(count: number): (size: number) => Uint8Array {
  return (size) => {
    const nonce = Buffer.alloc(size);
    nonce.writeUInt32BE(count);
    return nonce;
  };
}
