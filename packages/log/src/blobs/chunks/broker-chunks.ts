import {
  BLOB_CHUNKS_STREAM,
  BLOB_CHUNKS_SUBJECTS,
  chunkSubject,
  parseChunkSubject,
  STREAM_START,
} from "@reprise/protocol";
import type { NatsConnection } from "@nats-io/transport-node";
import { getStreamInfo, purgeSubject } from "../../nats/stream-api.ts";
import { readLastRaw, type StreamMessage } from "../../nats/stream-messages.ts";
import type { ChunkPlace, ChunkStore, UploadRef } from "./chunk-store.ts";
import { askPatiently, readAllPatiently, type RowBroker } from "../../append/row-broker.ts";
import { storeBehind } from "../../append/store-behind.ts";

/*
 * Chunks as messages of one stream: all of an upload under one subject, each stored behind the one before by compare-and-set, as events are. So a
 * request that was cut off and one that goes on for it can't mix, and a chunk whose answer was lost is not stored twice. JetStream's own object
 * store, which is a convention for such a stream, has neither: it writes under a random subject without a check, begins anew after a break, and
 * reads by a consumer for each reader, of which a stream has a bounded number.
 *
 * A message is its number (4 bytes), the offset of its bytes (8 bytes), and the bytes. One without bytes is the seal: nothing comes behind it.
 */

/** Small beside what a token waits for on the way, and large enough that 32 MiB are 256 of them. */
const CHUNK_BYTES = 128 * 1_024;
const HEAD_BYTES = 12;
const NO_BYTES = new Uint8Array();
/** Two at a time: the next one is on its way while the first is sent. */
const BATCH = { maxMessages: 2, maxBytes: 2 * (CHUNK_BYTES + 1_024) };

/** What it takes to keep chunks. */
export interface BlobBroker extends RowBroker {
  /** Reads bytes: megabytes of them hold up no other request. */
  readonly bulk: NatsConnection;
}

export function createBrokerChunks(broker: BlobBroker): ChunkStore {
  const stream = BLOB_CHUNKS_STREAM;
  const put = ({ tenant, upload }: UploadRef, place: ChunkPlace, bytes: Uint8Array) => {
    const subject = chunkSubject(tenant, upload);
    const payload = encodeChunk(place, bytes);
    return storeBehind(broker, { stream, subject, payload, expectedLast: place.last });
  };
  return {
    chunkBytes: CHUNK_BYTES,
    async place({ tenant, upload }) {
      const subject = chunkSubject(tenant, upload);
      const last = await askPatiently(broker, () => readLastRaw(broker.reads, stream, subject));
      const chunk = last && parseChunk(last);
      if (!chunk) return { chunks: 0, bytes: 0, last: last?.streamSeq ?? STREAM_START };
      const { number, offset, bytes } = chunk;
      if (bytes.length === 0) return { chunks: number, bytes: offset, last: last.streamSeq, isSealed: true };
      return { chunks: number + 1, bytes: offset + bytes.length, last: last.streamSeq };
    },
    async append(ref, place, bytes) {
      if (place.isSealed) return undefined;
      const last = await put(ref, place, bytes);
      return last && { chunks: place.chunks + 1, bytes: place.bytes + bytes.length, last };
    },
    async seal(ref, place) {
      if (place.isSealed) return place;
      const last = await put(ref, place, NO_BYTES);
      return last && { ...place, last, isSealed: true };
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
  const bytes = payload.subarray(HEAD_BYTES);
  return { number: head.readUInt32BE(0), offset: Number(head.readBigUInt64BE(4)), bytes };
}
