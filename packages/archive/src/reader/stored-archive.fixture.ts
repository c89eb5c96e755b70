import { randomBytes } from "node:crypto";
import {
  createGenerationId,
  encodeEvent,
  type EventDraft,
  type GenerationRef,
  parseTenantId,
  asSeq,
  asStreamSeq,
} from "@reprise/protocol";
import { sha256Hex } from "../commit/hashes.ts";
import type { ArchiveFile } from "../commit/commit.ts";
import type { ArchiveRecord } from "../commit/record.ts";
import { commitmentOf, type DataKey, type Keyring } from "../keys/keyring.ts";
import { compareSegments } from "../parquet/compare-segments.ts";
import { encodeSegmentFile } from "../parquet/encode-segment-file.ts";
import { encodeFingerprints } from "../segment/fingerprint.ts";
import { sealSegment, type SegmentDraft } from "../segment/segment.ts";
import type { ArchivedMessage, Segment } from "../segment/segment-header.ts";
import type { ReadableArchive } from "./segment-reader.ts";

export function createRef(tenant = "acme"): GenerationRef {
  return { tenant: parseTenantId(tenant), generation: createGenerationId(randomBytes(17), 1) };
}

export interface StoredArchive {
  readonly archive: ReadableArchive;
  readonly keyring: Pick<Keyring, "open">;
  /** Stores segments as one file, and lets the archive know of it. */
  addFile(segments: readonly Segment[]): ArchiveFile;
  /** Takes a file away as compaction does: from the archive at its next refresh alone, and what is stored at once. */
  removeFile(key: string): void;
  addRecord(record: ArchiveRecord): void;
  destroyKeys(): void;
  seal(
    draft: Omit<SegmentDraft, "v" | "tenant" | "generation">,
    messages: readonly ArchivedMessage[],
  ): Segment;
}

/** An archive of one tenant in memory, whose segments have one key. */
export function createStoredArchive({ tenant, generation }: GenerationRef): StoredArchive {
  const bytes = randomBytes(32);
  const key: DataKey = { kid: "k1", key: bytes, commitment: commitmentOf(bytes) };
  const blobs = new Map<string, Uint8Array>();
  const files = new Map<string, ArchiveFile>();
  const records: ArchiveRecord[] = [];
  const removed: string[] = [];
  let destroyed = false;
  return {
    archive: {
      state: {
        files: (of) => (of === tenant ? [...files.values()] : []),
        hasFile: (of, name) => of === tenant && files.has(name),
        records: (of) => (of === tenant ? records : []),
      },
      store: {
        async get(name, range = { offset: 0, length: Number.POSITIVE_INFINITY }) {
          return blobs.get(name)?.subarray(range.offset, range.offset + range.length);
        },
      },
      async refresh() {
        for (const name of removed.splice(0)) files.delete(name);
      },
    },
    keyring: { open: async (_, kid) => (destroyed ? "destroyed" : kid === key.kid ? key : "unknown") },
    addFile(segments) {
      const encoded = encodeSegmentFile(segments.toSorted(compareSegments));
      const file: ArchiveFile = {
        key: `data/${files.size}-${sha256Hex(encoded).slice(0, 12)}.parquet`,
        sha256: sha256Hex(encoded),
        bytes: encoded.length,
        segments: segments.length,
        events: segments.reduce((all, { header }) => all + header.events, 0),
        first_at: Math.min(...segments.map(({ header }) => header.first_at)),
        last_at: Math.max(...segments.map(({ header }) => header.last_at)),
        generations: encodeFingerprints(segments.map(({ header }) => header.generation)),
      };
      blobs.set(file.key, encoded);
      files.set(file.key, file);
      return file;
    },
    removeFile(name) {
      blobs.delete(name);
      removed.push(name);
    },
    addRecord: (record) => void records.push(record),
    destroyKeys: () => void (destroyed = true),
    seal: (draft, messages) =>
      sealSegment({ v: 1, tenant, generation, ...draft }, messages, key, (size) => randomBytes(size)),
  };
}

export interface LogPart {
  readonly firstSeq: number;
  readonly texts: readonly string[];
  readonly epoch?: number;
  /** Stream sequence of its first event; the others follow. Default: 100 more than `firstSeq`. */
  readonly streamSeq?: number;
}

/** A segment of a log whose events say these texts. */
export function sealLog(archive: StoredArchive, part: LogPart): Segment {
  const { firstSeq, texts, epoch = 0, streamSeq = 100 + firstSeq } = part;
  const messages = texts.map((text, i) => ({
    streamSeq: asStreamSeq(streamSeq + i),
    storedAtUs: (firstSeq + i) * 1_000,
    payload: encodeEvent(asSeq(firstSeq + i), { type: "output.delta", text } satisfies EventDraft),
  }));
  return archive.seal(
    {
      kind: "log",
      stream: "GENERATIONS_0",
      epoch,
      first_stream_seq: asStreamSeq(streamSeq),
      last_stream_seq: asStreamSeq(streamSeq + texts.length - 1),
      events: texts.length,
      first_seq: asSeq(firstSeq),
      last_seq: asSeq(firstSeq + texts.length - 1),
      first_at: messages[0]!.storedAtUs,
      last_at: messages.at(-1)!.storedAtUs,
    },
    messages,
  );
}

/** A segment of messages that are no events: of VERDICTS or OPS. */
export function sealMessages(
  archive: StoredArchive,
  kind: "verdict" | "ops",
  payloads: readonly Uint8Array[],
): Segment {
  const messages = payloads.map((payload, i) => ({
    streamSeq: asStreamSeq(10 + i),
    storedAtUs: 1_000 * i,
    payload,
  }));
  return archive.seal(
    {
      kind,
      stream: kind === "ops" ? "OPS" : "VERDICTS",
      epoch: 0,
      first_stream_seq: asStreamSeq(10),
      last_stream_seq: asStreamSeq(9 + payloads.length),
      events: payloads.length,
      first_seq: asSeq(0),
      last_seq: asSeq(0),
      first_at: 0,
      last_at: messages.at(-1)!.storedAtUs,
    },
    messages,
  );
}
