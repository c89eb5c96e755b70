import { asStreamSeq, RepriseError, STREAM_START, type StreamSeq } from "@reprise/protocol";

/** Set by the create, for good. */
export interface StreamConfig {
  /** Content type, as it was sent. */
  readonly type: string;
  /** Seconds without a read or a write after which the stream is gone. */
  readonly ttlSeconds?: number | undefined;
  /** When it is gone, RFC 3339, as it was sent. */
  readonly expiresAt?: string | undefined;
}

/** The last append that a producer had accepted. */
export interface Producer {
  readonly id: string;
  readonly epoch: number;
  readonly seq: number;
}

/** All that the next record depends on. Each record has it as it is after that record, so that the last one is enough. */
export interface StreamState extends StreamConfig {
  /** Time of the last read or write of a stream with `ttlSeconds`, milliseconds since 1970. */
  readonly usedAtMs?: number | undefined;
  /** Bytes of the content of all records. */
  readonly bytes: number;
  /** The last Stream-Seq. */
  readonly order?: string | undefined;
  readonly isClosed: boolean;
  /** Those heard last, the last one at the end. */
  readonly producers: readonly Producer[];
}

/**
 * One message of a stream's log. `touch` says that the stream was read; `delete` is its end: a later `create` begins another stream, whose readers never see
 * records before it.
 */
export interface StreamRecord {
  readonly kind: "create" | "append" | "touch" | "delete";
  /** Names the publish, so that one whose answer was lost is told from another's. */
  readonly id: string;
  /** Place of the record that has created the stream; of that record itself, 0. */
  readonly created: StreamSeq;
  /** Place of the last record before this one at which an offset is; 0 of a `create`. */
  readonly previous: StreamSeq;
  readonly state: StreamState;
  /** Bytes of a stream; of one in JSON mode, its messages with commas between them. */
  readonly data: Uint8Array;
}

/** The end of a stream's log. */
export interface StreamHead {
  /** The last record. */
  readonly at: StreamSeq;
  readonly created: StreamSeq;
  /** The last record with content, or the one that has created the stream: its place is the offset of the end. */
  readonly tail: StreamSeq;
  readonly kind: StreamRecord["kind"];
  readonly state: StreamState;
}

const LF = 0x0a;
const decoder = new TextDecoder("utf-8", { fatal: true });

/** One line of JSON, and the content after it as it is. */
export function encodeRecord({ data, ...line }: StreamRecord): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify(line)}\n`), data]);
}

/**
 * Decodes a record. Its content is a view of the payload.
 * @throws RepriseError `protocol_violation` for bytes that `encodeRecord` has not made
 */
export function decodeRecord(payload: Uint8Array): StreamRecord {
  const end = payload.indexOf(LF);
  try {
    const line = JSON.parse(decoder.decode(payload.subarray(0, end))) as Omit<StreamRecord, "data">;
    return { ...line, data: payload.subarray(end + 1) };
  } catch (cause) {
    throw new RepriseError("protocol_violation", "A record of a durable stream can't be decoded.", { cause });
  }
}

export function headOf({ kind, created, previous, state, data }: StreamRecord, at: StreamSeq): StreamHead {
  const isNew = kind === "create";
  return {
    at,
    created: isNew ? at : created,
    tail: isNew || data.length > 0 ? at : previous,
    kind,
    state,
  };
}

const DIGITS = 16;
const OFFSET = /^[0-9]{16}_0{16}$/;

/** An offset as clients get it: the place of the last record that was read. Offsets of one name only grow, also over a delete and a create. */
export function encodeOffset(at: StreamSeq): string {
  return `${`${at}`.padStart(DIGITS, "0")}_${"0".repeat(DIGITS)}`;
}

/** @throws RepriseError `cursor_invalid` */
export function parseOffset(text: string): StreamSeq {
  const at = Number(text.slice(0, DIGITS));
  if (OFFSET.test(text) && Number.isSafeInteger(at)) return at === 0 ? STREAM_START : asStreamSeq(at);
  throw new RepriseError("cursor_invalid", "offset is none that this platform has issued.", {
    param: "offset",
  });
}
