export {
  type AppendOutcome,
  Archive,
  type ArchiveOptions,
  type ArchiveWriter,
  openArchive,
} from "./commit/archive.ts";
export type { Draft, TenantDraft } from "./commit/draft.ts";
export { parseCommit } from "./commit/read-commits.ts";
export { ArchiveState } from "./commit/archive-state.ts";
export {
  ARCHIVE_TREE,
  type ArchiveFile,
  type Commit,
  commitSchema,
  type Lane,
  type TenantPart,
} from "./commit/commit.ts";
export { signJson } from "./commit/signed-json.ts";
export { joinHashes, sha256Hex, splitHashes } from "./commit/hashes.ts";
export {
  checkpointKey,
  commitKey,
  cosignedKey,
  dataKey,
  type DataFileName,
  SNAPSHOT_KEY,
  tileKey,
} from "./commit/paths.ts";
export {
  type ArchiveRecord,
  encodeArchiveRecord,
  type PlacesByStream,
  type StreamRange,
} from "./commit/record.ts";
export type { DataKey, KeyOwner, Keyring } from "./keys/keyring.ts";
export { compareSegments } from "./parquet/compare-segments.ts";
export { encodeSegmentFile } from "./parquet/encode-segment-file.ts";
export { type MergedFile, mergeSegmentFiles } from "./parquet/merge-segment-files.ts";
export {
  openSegmentFile,
  readSegmentFile,
  type SegmentFile,
  type SegmentRow,
} from "./parquet/open-segment-file.ts";
export { ArchiveReader } from "./reader/archive-reader.ts";
export { asShownTo } from "./reader/as-shown.ts";
export { type Erasures, erasuresOf } from "./reader/erasures.ts";
export type { LogEvent } from "./reader/log-event.ts";
export { type LogLayout, layOutLog, type SeqRange, type Stretch } from "./reader/log-layout.ts";
export type { LogOutline } from "./reader/log-outline.ts";
export type { PlacedSegment, ReadableArchive, SegmentReaderOptions } from "./reader/segment-reader.ts";
export {
  decodeFingerprints,
  encodeFingerprints,
  fingerprintOf,
  holdsFingerprint,
  mayHold,
} from "./segment/fingerprint.ts";
export { showMessage } from "./segment/message-tree.ts";
export { commitmentOf, leafHashOf, openSegment, sealSegment, type SegmentDraft } from "./segment/segment.ts";
export {
  type ArchivedMessage,
  encodeSegmentHeader,
  type Segment,
  type SegmentHeader,
  segmentHeaderSchema,
  type SegmentKind,
  toLeafData,
} from "./segment/segment-header.ts";
export type { BlobInfo, BlobStore, ByteRange } from "./store/blob-store.ts";
export { openMasterKeyFile, openSecretFile, parseMasterKey } from "./keys/master-key.ts";
export { openKeyring, type KeyringOptions } from "./keys/open-keyring.ts";
export { type RewrapOptions, rewrapKeys } from "./keys/rewrap-keys.ts";
export { EMPTY_ROOT, hashLeaf, hashNode } from "./merkle/hash.ts";
export type { HashReader } from "./merkle/hash-reader.ts";
export { type OpenTree, openTree } from "./merkle/open-tree.ts";
export { consistencyProof, inclusionProof } from "./merkle/proofs.ts";
export { verifyConsistency, verifyInclusion } from "./merkle/verify-proofs.ts";
export { MerkleTree, splitTile, type Tile } from "./merkle/merkle-tree.ts";
export { type Checkpoint, encodeCheckpoint, parseCheckpoint } from "./note/checkpoint.ts";
export {
  createNoteKey,
  type NoteKey,
  parseNoteKey,
  parseVerifierKey,
  type VerifierKey,
} from "./note/note-key.ts";
export { encodeSignature, openNote, parseNote, signNote } from "./note/signed-note.ts";
export { createFileStore } from "./store/file-store.ts";
export { cosign, cosignedAt } from "./note/cosignature.ts";
export { COSIGNATURE, ED25519 } from "./note/note-key.ts";
export type { Finding, FindingKind } from "./verify/finding.ts";
export {
  type CheckedProof,
  checkSegmentProof,
  type ProofKeys,
  type SegmentProof,
  segmentProofSchema,
} from "./verify/segment-proof.ts";
export { verifyArchive, type VerifyOptions, type VerifyReport } from "./verify/verify-archive.ts";
export { assertObjectKey } from "./store/object-key.ts";
export { probeStore } from "./store/probe-store.ts";
export { createS3Store, type S3StoreOptions } from "./store/s3-store.ts";
