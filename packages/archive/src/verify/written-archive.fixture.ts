import { asStreamSeq } from "@reprise/protocol";
import { type Archive, openArchive } from "../commit/archive.ts";
import type { ArchiveFile, Lane } from "../commit/commit.ts";
import type { TenantDraft } from "../commit/draft.ts";
import { sha256Hex } from "../commit/hashes.ts";
import { dataKey } from "../store/paths.ts";
import { createNoteKey } from "../note/note-key.ts";
import { encodeSegmentFile } from "../parquet/encode-segment-file.ts";
import { encodeFingerprints } from "../segment/fingerprint.ts";
import { leafHashOf } from "../segment/segment.ts";
import type { Segment } from "../segment/segment-header.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { createLog } from "../testing/events.ts";
import { createMemoryStore } from "../testing/memory-store.ts";
import { sealLog } from "../testing/segments.ts";
import { verifyArchive, type VerifyReport } from "./verify-archive.ts";

const NAME = "test";
const STREAM = "GENERATIONS_0";
const EVENTS = 10;

export const signer = createNoteKey(NAME, Buffer.alloc(32, 9));

export interface WrittenArchive {
  readonly store: BlobStore;
  readonly archive: Archive;
  /** The `n`-th batch of ten events: a log of its own, in a file of its own. */
  readonly add: (n: number, change?: BatchChange) => Promise<ArchiveFile>;
  readonly verify: () => Promise<VerifyReport>;
}

/** Changes that a holder of the signing key may make. */
export interface BatchChange {
  readonly lane?: Partial<Lane>;
  readonly tenant?: string;
  /** The file's bytes, of these segments. */
  readonly encode?: (segments: readonly Segment[]) => Uint8Array;
  /** The file's key, of the right one. */
  readonly key?: (key: string) => string;
  /** Returns the tenant's part of the commit. @param before the file of the batch before */
  readonly part?: (part: TenantDraft, before: ArchiveFile) => TenantDraft;
}

/** An archive in memory, by the code that writes archives. */
export async function openWrittenArchive(store = createMemoryStore()): Promise<WrittenArchive> {
  const onError = (error: unknown) => {
    throw error;
  };
  const archive = await openArchive({ store, name: NAME, writer: { name: "writer", signer, onError } });
  const added: ArchiveFile[] = [];
  return {
    store,
    archive,
    async add(
      n,
      { lane, tenant = "acme", encode = encodeSegmentFile, key = (same: string) => same, part } = {},
    ) {
      const [first, last] = [n * EVENTS + 1, (n + 1) * EVENTS];
      const generation = `gen_0_${n}`;
      const log = createLog({ generation, events: EVENTS, seed: n, prose: "some words", streamStride: 1 });
      const messages = log.map((message, i) => ({ ...message, streamSeq: asStreamSeq(first + i) }));
      const segments = sealLog(messages, { size: 5, tenant, generation });
      const bytes = encode(segments);
      const sha256 = sha256Hex(bytes);
      const file = {
        key: key(
          dataKey({
            tenant,
            day: "2026-11-21",
            stream: STREAM,
            first: asStreamSeq(first),
            last: asStreamSeq(last),
            sha256,
          }),
        ),
        sha256,
        bytes: bytes.length,
        segments: segments.length,
        events: EVENTS,
        first_at: messages[0]!.storedAtUs,
        last_at: messages.at(-1)!.storedAtUs,
        generations: encodeFingerprints([generation]),
      };
      await store.put(file.key, bytes);
      const stretch: Lane = {
        stream: STREAM,
        epoch: 0,
        created: "2026-11-21T00:00:00Z",
        first: asStreamSeq(first),
        last: asStreamSeq(last),
        last_seq_stored: asStreamSeq(last),
        last_at: file.last_at,
        events: EVENTS,
        gaps: [],
        skipped: [],
        ...lane,
      };
      const draft = { tenant, leaves: segments.map(leafHashOf), files: [file], removes: [], records: [] };
      const changed = part ? part(draft, added.at(-1)!) : draft;
      await archive.append(() => ({ lane: stretch, tenants: [changed] }));
      added.push(file);
      return file;
    },
    verify: () => verifyArchive({ store, name: NAME, vkeys: [signer], witnesses: [], witnessed: [] }),
  };
}
