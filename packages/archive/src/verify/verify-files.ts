import { peekSeq, RepriseError } from "@reprise/protocol";
import type { ArchiveFile } from "../commit/commit.ts";
import { sha256Hex } from "../commit/hashes.ts";
import type { Keyring } from "../keys/keyring.ts";
import { compareSegments } from "../parquet/compare-segments.ts";
import { readSegmentFile } from "../parquet/open-segment-file.ts";
import { encodeFingerprints } from "../segment/fingerprint.ts";
import { hasMessagesRoot, leafHashOf, openSegment } from "../segment/segment.ts";
import type { ArchivedMessage, Segment, SegmentHeader } from "../segment/segment-header.ts";
import type { BlobStore } from "../store/blob-store.ts";
import { findOtherColumn } from "./columns.ts";
import type { Findings } from "./finding.ts";
import { isPlacedIn } from "./segment-place.ts";
import type { ClaimedTenant } from "./verify-commits.ts";

export interface FileOptions {
  store: BlobStore;
  /** Without it nothing is opened, and the rest is verified all the same. */
  keyring: Pick<Keyring, "open"> | undefined;
  findings: Findings;
  /** Streams of which something is not archived: their logs may have holes. */
  broken: ReadonlySet<string>;
  /** Generations of which nothing more was archived from some moment on. */
  erased: ReadonlySet<string>;
  /** Keys that a record says are destroyed. */
  destroyedKids: ReadonlySet<string>;
  /** Only files that this commit or a later one has named. */
  since: number;
}

export interface FileCounts {
  files: number;
  segments: number;
  events: number;
  /** Segments whose key is destroyed. */
  destroyed: number;
  /** Segments whose key is not at hand. */
  unopened: number;
}

/**
 * Holds a tenant's files against what the commits say: each is there as it was written, each of its segments is a leaf of the tree, no leaf
 * is without its segment, each log is whole. Keeps about a hundred bytes for each segment of the tenant in memory. Takes away the leaves that it has
 * found.
 * @throws RepriseError `archive_unavailable`
 */
export async function verifyFiles(
  tenant: string,
  { files, leaves, deletedSegments }: ClaimedTenant,
  options: FileOptions,
): Promise<FileCounts> {
  const { store, findings, broken, erased, since } = options;
  const counts: FileCounts = { files: 0, segments: 0, events: 0, destroyed: 0, unopened: 0 };
  const logs: LogParts = new Map();
  for (const { n, file } of files.values()) {
    if (n < since) continue;
    counts.files++;
    const segments = await readFile(store, file, findings);
    if (!segments) continue;
    checkClaims(file, segments, findings);
    for (const segment of segments) {
      const { header } = segment;
      counts.segments++;
      counts.events += header.events;
      if (!isPlacedIn(file.key, header))
        findings.add("tampered", file.key, `holds a segment of ${header.tenant}, ${header.stream}`);
      const leaf = Buffer.from(leafHashOf(segment)).toString("latin1");
      if (!leaves.delete(leaf)) {
        findings.add("tampered", file.key, `a segment of ${header.generation} is no leaf of the tree`);
        continue;
      }
      await openWith(options, segment, file.key, counts);
      if (header.kind === "log") addPart(logs, segment);
    }
  }
  if (since > 0) return counts;
  if (leaves.size !== deletedSegments)
    findings.add("tampered", tenant, `${leaves.size - deletedSegments} segments of the tree are in no file`);
  for (const { generation, holes, stream } of findSeqHoles(logs)) {
    if (erased.has(generation)) continue;
    // The beginning of a stream may be missing where retention has deleted its day.
    const isExplained = broken.has(stream) || deletedSegments > 0;
    const message = `${generation} has no events ${holes.map(([from, to]) => `${from}-${to}`).join(", ")}`;
    findings.add(isExplained ? "note" : "gap", tenant, message);
  }
  return counts;
}

async function readFile(
  store: BlobStore,
  file: ArchiveFile,
  findings: Findings,
): Promise<Segment[] | undefined> {
  // A larger file in its place takes no more memory than the commit allows.
  const bytes = await store.get(file.key, { offset: 0, length: file.bytes + 1 });
  if (!bytes) findings.add("tampered", file.key, "is missing");
  else if (bytes.length !== file.bytes || sha256Hex(bytes) !== file.sha256)
    findings.add("tampered", file.key, "is not the file that was committed");
  else {
    try {
      const segments = await readSegmentFile(bytes);
      const column = await findOtherColumn(bytes, segments);
      if (column !== undefined)
        findings.add("tampered", file.key, `the column ${column} is not what the headers say`);
      return segments;
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error;
      findings.add("tampered", file.key, error.message);
    }
  }
  return undefined;
}

function checkClaims(file: ArchiveFile, segments: readonly Segment[], findings: Findings): void {
  const headers = segments.map(({ header }) => header);
  const isRight =
    segments.length === file.segments &&
    segments.every((segment, i) => compareSegments(segments[i - 1] ?? segment, segment) <= 0) &&
    headers.reduce((sum, { events }) => sum + events, 0) === file.events &&
    encodeFingerprints(headers.map(({ generation }) => generation)) === file.generations &&
    headers.every(({ first_at, last_at }) => first_at >= file.first_at && last_at <= file.last_at);
  if (!isRight) findings.add("tampered", file.key, "does not hold what its commit says");
}

async function openWith(
  { keyring, findings, erased, destroyedKids }: FileOptions,
  segment: Segment,
  where: string,
  counts: FileCounts,
): Promise<void> {
  if (!keyring) return;
  const { tenant, kid, generation } = segment.header;
  try {
    const key = await keyring.open(tenant, kid);
    if (key === "destroyed") {
      counts.destroyed++;
      if (!erased.has(generation) && !destroyedKids.has(kid))
        findings.add("unknown", where, `the key of ${generation} is destroyed, and no record says why`);
    } else if (key === "unknown") counts.unopened++;
    else {
      if (destroyedKids.has(kid))
        findings.add("tampered", where, `the key of ${generation} was destroyed, and is there again`);
      const messages = openSegment(segment, key);
      checkMessages(segment.header, messages, where, findings);
      if (!hasMessagesRoot(segment.header, messages, key))
        findings.add(
          "tampered",
          where,
          `the messages of a segment of ${generation} are not those of its root`,
        );
    }
  } catch (error) {
    if (!(error instanceof RepriseError) || error.code !== "archive_corrupt") throw error;
    findings.add("tampered", where, `a segment of ${generation}: ${error.message}`);
  }
}

/** Compares the messages with their header: a wrong header may have been sealed with the right keys. */
function checkMessages(
  { generation, kind, first_seq, ...header }: SegmentHeader,
  messages: readonly ArchivedMessage[],
  where: string,
  findings: Findings,
): void {
  const [first, last] = [messages.at(0), messages.at(-1)];
  const isRight =
    messages.length === header.events &&
    first?.streamSeq === header.first_stream_seq &&
    last?.streamSeq === header.last_stream_seq &&
    first.storedAtUs === header.first_at &&
    last.storedAtUs === header.last_at &&
    (kind !== "log" || messages.every(({ payload }, i) => peekSeq(payload) === first_seq + i));
  if (!isRight)
    findings.add("tampered", where, `a segment of ${generation} does not hold what its header says`);
}

function addPart(logs: LogParts, { header }: Segment): void {
  const parts = logs.get(header.generation) ?? { stream: header.stream, parts: [] };
  parts.parts.push([header.epoch, header.first_seq, header.last_seq]);
  logs.set(header.generation, parts);
}

type SeqRange = readonly [from: number, to: number];

/** By generation: the ranges of its log that are archived, each with its epoch. */
type LogParts = Map<
  string,
  { readonly stream: string; readonly parts: (readonly [epoch: number, from: number, to: number])[] }
>;

/** The logs that lack something between their beginning and the last event there is of them. */
function* findSeqHoles(logs: LogParts): Generator<{ generation: string; stream: string; holes: SeqRange[] }> {
  for (const [generation, { stream, parts }] of logs) {
    const holes: SeqRange[] = [];
    let next = 0;
    for (const [, from, to] of parts.toSorted((a, b) => a[1] - b[1])) {
      if (from > next) holes.push([next, from - 1]);
      next = Math.max(next, to + 1);
    }
    if (holes.length > 0) yield { generation, stream, holes };
  }
}
