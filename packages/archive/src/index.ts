export { ArchiveState } from "./commit/archive-state.ts";
export {
  type AppendOutcome,
  Archive,
  type ArchiveOptions,
  type ArchiveWriter,
  openArchive,
} from "./commit/archive.ts";
export { ARCHIVE_TREE, type ArchiveFile, type Commit, type Lane, type TenantPart } from "./commit/commit.ts";
export type { Draft, TenantDraft } from "./commit/draft.ts";
export { joinHashes, sha256Hex, splitHashes } from "./commit/hashes.ts";
export {
  checkpointKey,
  commitKey,
  cosignedKey,
  dataKey,
  type FilePlace,
  parseDataKey,
  SNAPSHOT_KEY,
} from "./store/paths.ts";
export { parseCommit } from "./commit/read-commits.ts";
export {
  type ArchiveRecord,
  type BlobCopy,
  encodeArchiveRecord,
  liveCopies,
  type PlacesByStream,
  type StreamRange,
} from "./commit/record.ts";
export { signJson } from "./commit/signed-json.ts";
export { COPIES, copyKey, type CopyPlace, parsePartKey } from "./copies/copy-keys.ts";
export { type CopiedContent, openCopy, readCopy } from "./copies/open-copy.ts";
export { COPY_PART_BYTES, type CopyDraft, removeParts, sealCopy } from "./copies/seal-copy.ts";
export { commitmentOf, type DataKey, type KeyOwner, type Keyring } from "./keys/keyring.ts";
export { createMasterKey, parseMasterKey } from "./keys/master-key.ts";
export { type KeyringOptions, openKeyring } from "./keys/open-keyring.ts";
export { rewrapKeys, type RewrapOptions } from "./keys/rewrap-keys.ts";
export type { HashReader } from "./merkle/hash-reader.ts";
export { EMPTY_ROOT, hashLeaf, hashNode } from "./merkle/hash.ts";
export { MerkleTree } from "./merkle/merkle-tree.ts";
export { type OpenTree, openTree } from "./commit/open-tree.ts";
export { consistencyProof, inclusionProof } from "./merkle/proofs.ts";
export { verifyConsistency } from "./merkle/verify-proofs.ts";
export { type AddCheckpoint, encodeAddCheckpoint, parseAddCheckpoint } from "./note/add-checkpoint.ts";
export { type Checkpoint, encodeCheckpoint, parseCheckpoint } from "./note/checkpoint.ts";
export { cosign, cosignedAt } from "./note/cosignature.ts";
export {
  COSIGNATURE,
  createNoteKey,
  type NoteKey,
  parseNoteKey,
  parseVerifierKey,
  type VerifierKey,
} from "./note/note-key.ts";
export { encodeSignature, openNote, parseNote, signNote } from "./note/signed-note.ts";
export { SEEN_DIR, seenKey } from "./note/witness-memory.ts";
export { compareSegments } from "./parquet/compare-segments.ts";
export { encodeSegmentFile } from "./parquet/encode-segment-file.ts";
export { type MergedFile, mergeSegmentFiles } from "./parquet/merge-segment-files.ts";
export {
  openSegmentFile,
  readSegmentFile,
  type SegmentFile,
  type SegmentRow,
} from "./parquet/open-segment-file.ts";
export { ArchiveReader, type StoredInput } from "./reader/archive-reader.ts";
export { asShownTo } from "./reader/as-shown.ts";
export {
  type Erasures,
  erasuresOf,
  type PlacedSegment,
  type ReadableArchive,
  type SegmentReaderOptions,
} from "./reader/segment-reader.ts";
export type { LogEvent, LogOutline } from "./reader/log-outline.ts";
export type { LogLayout, SeqRange, Stretch } from "./reader/log-layout.ts";
export {
  decodeFingerprints,
  encodeFingerprints,
  fingerprintOf,
  holdsFingerprint,
  mayHold,
} from "./segment/fingerprint.ts";
export { showMessage } from "./segment/message-tree.ts";
export {
  type ArchivedMessage,
  encodeSegmentHeader,
  type Segment,
  type SegmentHeader,
  type SegmentKind,
  toLeafData,
} from "./segment/segment-header.ts";
export { leafHashOf, openSegment, sealSegment, type SegmentDraft } from "./segment/segment.ts";
export type { BlobInfo, BlobStore, ByteRange } from "./store/blob-store.ts";
export { createFileStore } from "./store/file-store.ts";
export { assertObjectKey } from "./store/object-key.ts";
export { probeStore, createS3Store, type S3StoreOptions } from "./store/s3-store.ts";
export type { Finding, FindingKind } from "./verify/finding.ts";
export {
  type CheckedProof,
  checkSegmentProof,
  type ProofKeys,
  type SegmentProof,
} from "./verify/segment-proof.ts";
export { verifyArchive, type VerifyOptions, type VerifyReport } from "./verify/verify-archive.ts";
