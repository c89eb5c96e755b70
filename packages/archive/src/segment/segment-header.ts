import type { StreamSeq } from "@reprise/protocol";
import * as z from "zod";

/**
 * The content of a segment: events of a generation's log, records of its input log, its last verdict, records of OPS, or records of OPS about accesses to
 * the archive. The last are under a key of the tenant: they outlive the data that was read.
 */
export const SEGMENT_KINDS = ["log", "input", "verdict", "ops", "access"] as const;
export type SegmentKind = (typeof SEGMENT_KINDS)[number];

const count = z.int().min(0);
const seq = count.brand<"Seq">();
const streamSeq = count.brand<"StreamSeq">();

/**
 * The part of a segment that is readable without a key. A segment has consecutive messages of one stream that belong to one generation, from one batch. It is
 * hashed and authenticated with the sealed part, in the form of `encodeSegmentHeader`. Times are microseconds since 1970 by the broker's clock.
 */
export const segmentHeaderSchema = z.strictObject({
  v: z.literal(1),
  tenant: z.string(),
  /** `-` for records of a tenant that belong to no generation. */
  generation: z.string(),
  kind: z.enum(SEGMENT_KINDS),
  /** The JetStream stream, and the number of times that it was created again or has lost its end. */
  stream: z.string(),
  epoch: count,
  first_stream_seq: streamSeq,
  last_stream_seq: streamSeq,
  /** Number of messages. */
  events: z.int().min(1),
  /** For a log, the `seq` of its first and last event; they are dense. 0 and 0 for the other kinds. */
  first_seq: seq,
  last_seq: seq,
  first_at: count,
  last_at: count,
  /** In the first segment of a log only, which holds seq 0. */
  model: z.string().optional(),
  /** Keyed hashes of the request's metadata pairs and subject, so that they can be searched for: 16 hex digits each, sorted. */
  tags: z.array(z.string()).optional(),
  /** In the segment with the log's end only. */
  status: z.enum(["completed", "failed", "cancelled"]).optional(),
  output_tokens: count.optional(),
  /** Root of the tree over the messages (message-tree.ts), hex: shows one of them without the others. */
  messages_root: z.string(),
  /** Which key; SHA-256 of `reprise key commitment v1` and the key, hex; 12 random bytes, hex. */
  kid: z.string(),
  commitment: z.string(),
  nonce: z.string(),
});

export type SegmentHeader = z.infer<typeof segmentHeaderSchema>;

/** One generation's share of a batch, sealed. */
export interface Segment {
  readonly header: SegmentHeader;
  /** AES-256-GCM of the compressed messages, the tag at its end; the encoded header is its additional data. */
  readonly sealed: Uint8Array;
}

/** One message of a stream as it is archived. */
export interface ArchivedMessage {
  readonly streamSeq: StreamSeq;
  /** Microseconds since 1970, by the broker's clock. */
  readonly storedAtUs: number;
  readonly payload: Uint8Array;
}

const encoder = new TextEncoder();
const FIELDS = Object.keys(segmentHeaderSchema.shape) as (keyof SegmentHeader)[];

/** UTF-8 JSON without blanks, fields in the order of the schema, those that are undefined left out. */
export function encodeSegmentHeader(header: SegmentHeader): Uint8Array {
  const ordered = FIELDS.flatMap((field) => (header[field] === undefined ? [] : [[field, header[field]]]));
  return encoder.encode(JSON.stringify(Object.fromEntries(ordered)));
}

/**
 * Returns the hashed data of a leaf in a tenant's tree: the length of the header as four bytes, most significant first, the header, and the
 * sealed part. A record of the archive itself is a leaf too: its JSON in place of the header, and an empty sealed part.
 */
export function toLeafData(header: Uint8Array, sealed: Uint8Array): Uint8Array {
  const data = new Uint8Array(4 + header.length + sealed.length);
  new DataView(data.buffer).setUint32(0, header.length);
  data.set(header, 4);
  data.set(sealed, 4 + header.length);
  return data;
}
