import {
  type AsyncBuffer,
  type FileMetaData,
  type ParquetRow,
  parquetMetadataAsync,
  parquetReadObjects,
  rowIndex,
} from "hyparquet";
import { RepriseError } from "@reprise/protocol";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import {
  encodeSegmentHeader,
  type Segment,
  type SegmentHeader,
  segmentHeaderSchema,
} from "../segment/segment-header.ts";
import type { ByteRange } from "../store/blob-store.ts";
import { FORMAT_KEY, FORMAT_VERSION } from "./encode-segment-file.ts";
import { ZSTD_DECOMPRESSORS } from "./zstd.ts";

/** The end of most files, with everything that says where the rest lies. */
const FOOTER_BYTES = 65_536;

/** Other columns are not read. */
const READ_COLUMNS: ReadonlySet<string> = new Set(["generation", "header", "sealed"]);
/** Sealed data has a tag of 16 bytes that does not compress. */
const LEAST_BYTES_PER_ROW = 16;

type ReadOptions = Parameters<typeof parquetReadObjects>[0];

/** A segment that was not read yet. */
export interface SegmentRow {
  /** From 0. */
  readonly row: number;
  readonly header: SegmentHeader;
}

const decoder = new TextDecoder();

/**
 * A Parquet file of segments that is read piece by piece. Everything rejects with RepriseError `archive_corrupt` for bytes that no file of
 * segments has, and with what `read` rejects with. Whether segments are those that were archived is not known before their leaf hashes
 * were compared.
 */
export class SegmentFile {
  readonly #file: AsyncBuffer;
  readonly #metadata: FileMetaData;

  constructor(file: AsyncBuffer, metadata: FileMetaData) {
    this.#file = file;
    this.#metadata = metadata;
  }

  /** Number of segments. */
  get rows(): number {
    return Number(this.#metadata.num_rows);
  }

  /** Returns the header of every segment. */
  async headers(): Promise<SegmentHeader[]> {
    const rows = await this.#read({ columns: ["header"] });
    return rows.map(toHeader);
  }

  /**
   * The rows of a generation, in their order. Reads which they are, and then the pages that hold them: the column of generations is so small
   * that one page may be all of it, and would have all headers read with it.
   */
  async rowsOf(generation: string): Promise<SegmentRow[]> {
    const found = await this.#read({
      columns: ["generation"],
      filter: { generation: { $eq: generation } },
      usePageIndex: true,
      includeRowIndex: true,
    });
    // `includeRowIndex` gives every row its index.
    const rows = found.map((row) => row[rowIndex]!);
    const [first, last] = [rows.at(0), rows.at(-1)];
    if (first === undefined || last === undefined) return [];
    const headers = await this.#read({
      columns: ["header"],
      rowStart: first,
      rowEnd: last + 1,
      useOffsetIndex: true,
    });
    return rows.map((row) => {
      // The read has every row from `first` to `last`.
      const header = toHeader(headers[row - first]!);
      if (header.generation !== generation)
        throw archiveCorrupt("A segment's row is not the one of its header.");
      return { row, header };
    });
  }

  /** The segments of a generation, in the order of their rows. */
  async segmentsOf(generation: string): Promise<Segment[]> {
    const rows = await this.rowsOf(generation);
    const [first, last] = [rows.at(0), rows.at(-1)];
    return first && last ? this.segments(first.row, last.row + 1) : [];
  }

  /** One segment. @param row less than `rows` */
  async segment(row: number): Promise<Segment> {
    const [segment] = await this.segments(row, row + 1);
    if (!segment) throw new RangeError(`A file of ${this.rows} segments has no segment ${row}.`);
    return segment;
  }

  /** Those from row `from` to the one before `to`; by default all. */
  async segments(from = 0, to = this.rows): Promise<Segment[]> {
    const rows = await this.#read({
      columns: ["header", "sealed"],
      rowStart: from,
      rowEnd: to,
      useOffsetIndex: true,
    });
    return rows.map(toSegment);
  }

  #read(options: Partial<ReadOptions>): Promise<ParquetRow[]> {
    return refusing(() =>
      parquetReadObjects({
        ...options,
        file: this.#file,
        metadata: this.#metadata,
        compressors: ZSTD_DECOMPRESSORS,
        utf8: false,
      }),
    );
  }
}

/** @param size of the file, in bytes */
export async function openSegmentFile(
  read: (range: ByteRange) => Promise<Uint8Array>,
  size: number,
): Promise<SegmentFile> {
  const file: AsyncBuffer = {
    byteLength: size,
    slice(start, end = size) {
      const slice = readExactly(read, { offset: start, length: end - start });
      // hyparquet fetches ahead, and forgets what it has fetched when it finds the file broken elsewhere.
      slice.catch(() => {});
      return slice;
    },
  };
  const metadata = await refusing(async () => {
    const options = { initialFetchSize: FOOTER_BYTES, geoparquet: false };
    const found = await parquetMetadataAsync(file, options);
    checkMetadata(found, size);
    return found;
  });
  return new SegmentFile(file, metadata);
}

/** Everything in a file of segments. @throws RepriseError `archive_corrupt` */
export async function readSegmentFile(bytes: Uint8Array): Promise<Segment[]> {
  const file = await openSegmentFile(
    async ({ offset, length }) => bytes.subarray(offset, offset + length),
    bytes.length,
  );
  return file.segments();
}

/**
 * hyparquet believes what a file says of itself: without this, one that was tampered with makes it loop over rows that are not there, or
 * throw between reads that are not awaited any more.
 */
function checkMetadata(metadata: FileMetaData, size: number): void {
  const version = metadata.key_value_metadata?.find(({ key }) => key === FORMAT_KEY)?.value;
  if (version !== FORMAT_VERSION)
    throw archiveCorrupt("A Parquet file is none of segments, or of a later version.");
  const names = metadata.schema.slice(1).map(({ name }) => name);
  const columns = names.join();
  if (metadata.schema[0]?.num_children !== names.length || new Set(names).size !== names.length)
    throw archiveCorrupt("A file of segments has no plain list of columns.");
  for (const { name, type, repetition_type } of metadata.schema)
    if (READ_COLUMNS.has(name) && (type !== "BYTE_ARRAY" || repetition_type !== "REQUIRED"))
      throw archiveCorrupt(`The column ${name} of a file of segments is none of bytes.`);
  let rows = 0n;
  for (const group of metadata.row_groups) {
    const paths = group.columns.map((chunk) => chunk.meta_data?.path_in_schema.join("."));
    if (paths.join() !== columns || group.num_rows < 1n)
      throw archiveCorrupt("A file of segments has a row group of other columns, or of no rows.");
    rows += group.num_rows;
  }
  if (rows !== metadata.num_rows || rows * BigInt(LEAST_BYTES_PER_ROW) > BigInt(size))
    throw archiveCorrupt("A file of segments has not as many rows as it says.");
}

async function readExactly(
  read: (range: ByteRange) => Promise<Uint8Array>,
  range: ByteRange,
): Promise<ArrayBuffer> {
  const bytes = await read(range).catch((cause: unknown) => {
    throw new ReadFailure(cause);
  });
  if (bytes.length !== range.length)
    throw archiveCorrupt(`A file of segments ends before byte ${range.offset + range.length}.`);
  return toArrayBuffer(bytes);
}

function toSegment(row: Record<string, unknown>): Segment {
  return { header: toHeader(row), sealed: toBytes(row["sealed"]) };
}

function toHeader(row: Record<string, unknown>): SegmentHeader {
  const text = row["header"];
  if (typeof text !== "string") throw archiveCorrupt("A segment has no header.");
  let header: SegmentHeader | undefined;
  try {
    header = segmentHeaderSchema.safeParse(JSON.parse(text)).data;
  } catch (cause) {
    throw archiveCorrupt("A segment's header is not JSON.", cause);
  }
  // Its bytes are what is hashed: those of the file must be the ones that the encoder makes.
  if (!header || decoder.decode(encodeSegmentHeader(header)) !== text)
    throw archiveCorrupt("A segment's header is not one.");
  return header;
}

function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw archiveCorrupt("A segment has no sealed part.");
  return value;
}

/** Carries what `read` has thrown through hyparquet. */
class ReadFailure extends Error {
  constructor(cause: unknown) {
    super("A file of segments could not be read.", { cause });
  }
}

/** hyparquet throws plain errors for what it can't make sense of. */
async function refusing<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof ReadFailure) throw thrown.cause;
    if (thrown instanceof RepriseError) throw thrown;
    throw archiveCorrupt("A file of segments can't be made sense of.", thrown);
  }
}

function toArrayBuffer({ buffer, byteOffset, byteLength }: Uint8Array): ArrayBuffer {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) return buffer;
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}
