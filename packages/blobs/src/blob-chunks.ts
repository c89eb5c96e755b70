import {
  BLOB_CHUNKS_STREAM,
  BLOB_CHUNKS_SUBJECTS,
  chunkSubject,
  parseChunkSubject,
  STREAM_START,
  type StreamSeq,
  type TenantId,
  type UploadId,
} from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import { getStreamInfo, purgeSubject, readLastRaw, type StreamMessage } from "@reprise/broker";
import { askPatiently, readAllPatiently, type RowBroker, storeAfter } from "@reprise/stream";

/*
 * The bytes of blobs, in chunks. All chunks of an upload are messages under one subject with the tenant in it, each stored after the one before by
 * compare-and-set, as events are: a chunk whose answer was lost is not stored twice, and an upload that was removed takes no further chunk. Chunks
 * are read by direct gets, no faster than their reader takes them. JetStream's object store has none of this (ADR 42).
 *
 * A message is its number (4 bytes), the offset of its bytes (8 bytes), and the bytes. Uploads of earlier versions end with one without bytes.
 */

/** Small beside what a token waits for on the way, and large enough that 32 MiB are 256 of them. */
export const CHUNK_BYTES = 128 * 1_024;
const HEAD_BYTES = 12;
/** Two at a time: the next one is on its way while the first is sent. */
const BATCH = { maxMessages: 2, maxBytes: 2 * (CHUNK_BYTES + 1_024) };

/** An upload whose bytes are meant. */
export interface UploadRef {
  readonly tenant: TenantId;
  readonly upload: UploadId;
}

/** The end of what is stored of an upload. */
export interface ChunkPlace {
  readonly chunks: number;
  /** Bytes of all chunks together. */
  readonly bytes: number;
  /** The last chunk's place in the stream; `STREAM_START` if there is none. */
  readonly last: StreamSeq;
}

/** All methods reject with RepriseError `broker_unavailable` if the broker stays away. */
export interface BlobChunks {
  /**
   * Stores a chunk.
   * @param bytes may be used again when this resolves
   * @returns the place after it; undefined if the upload was removed meanwhile
   */
  append(ref: UploadRef, place: ChunkPlace, bytes: Uint8Array): Promise<ChunkPlace | undefined>;
  /** Returns how many bytes are stored, 0 if none. */
  bytesOf(ref: UploadRef): Promise<number>;
  /** Reads all bytes in order, up to the first gap. */
  read(ref: UploadRef): AsyncGenerator<Uint8Array>;
  /** May be repeated. */
  remove(ref: UploadRef): Promise<void>;
  /** Lists all uploads that have a chunk. */
  list(): AsyncIterable<UploadRef>;
}

/** Needs of the chunks. */
export interface BlobBroker extends RowBroker {
  /** Reads bytes: megabytes of them hold up no other request. */
  readonly bulk: NatsConnection;
}

export function createBlobChunks(broker: BlobBroker): BlobChunks {
  const stream = BLOB_CHUNKS_STREAM;
  return {
    async append({ tenant, upload }, place, bytes) {
      const subject = chunkSubject(tenant, upload);
      const payload = encodeChunk(place, bytes);
      const last = await storeAfter(broker, { stream, subject, payload, expectedLast: place.last });
      return last && { chunks: place.chunks + 1, bytes: place.bytes + bytes.length, last };
    },
    async bytesOf({ tenant, upload }) {
      const subject = chunkSubject(tenant, upload);
      const last = await askPatiently(broker, () => readLastRaw(broker.reads, stream, subject));
      const chunk = last && parseChunk(last);
      return chunk ? chunk.offset + chunk.bytes.length : 0;
    },
    async *read({ tenant, upload }) {
      const request = { ...BATCH, afterStreamSeq: STREAM_START, subject: chunkSubject(tenant, upload) };
      let offset = 0;
      for await (const message of readAllPatiently(broker, broker.bulk, stream, request)) {
        const chunk = parseChunk(message);
        if (!chunk || chunk.offset !== offset || chunk.bytes.length === 0) return;
        offset += chunk.bytes.length;
        yield chunk.bytes;
      }
    },
    remove({ tenant, upload }) {
      const subject = chunkSubject(tenant, upload);
      return askPatiently(broker, () => purgeSubject(broker.reads, stream, subject));
    },
    async *list() {
      const counted = new Set<string>();
      for (let offset = 0; ;) {
        const request = { subjects_filter: BLOB_CHUNKS_SUBJECTS, offset };
        const { state } = await askPatiently(broker, () => getStreamInfo(broker.reads, stream, request));
        const subjects = Object.keys(state.subjects ?? {});
        for (const subject of subjects) {
          const ref = parseChunkSubject(subject);
          if (ref && !counted.has(subject)) yield ref satisfies UploadRef;
          counted.add(subject);
        }
        offset += subjects.length;
        if (subjects.length === 0 || offset >= (state.num_subjects ?? 0)) return;
      }
    },
  };
}

function encodeChunk({ chunks, bytes: offset }: ChunkPlace, bytes: Uint8Array): Uint8Array {
  const payload = Buffer.allocUnsafeSlow(HEAD_BYTES + bytes.length);
  payload.writeUInt32BE(chunks, 0);
  payload.writeBigUInt64BE(BigInt(offset), 4);
  payload.set(bytes, HEAD_BYTES);
  return payload;
}

function parseChunk({ payload, isPublished }: Pick<StreamMessage, "payload" | "isPublished">) {
  if (!isPublished || payload.length < HEAD_BYTES) return undefined;
  const head = Buffer.from(payload.buffer, payload.byteOffset, HEAD_BYTES);
  return { offset: Number(head.readBigUInt64BE(4)), bytes: payload.subarray(HEAD_BYTES) };
}
