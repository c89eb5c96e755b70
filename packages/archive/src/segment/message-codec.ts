import { type StreamSeq, type Seq, plus, asStreamSeq, REQUEST_SEQ } from "@reprise/protocol";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { archiveCorrupt } from "./archive-corrupt.ts";
import { BitReader } from "./bit-reader.ts";
import { BitWriter } from "./bit-writer.ts";
import { readDeltas, readNumbers, writeDeltas, writeNumbers } from "./number-column.ts";
import { PAYLOAD_DICTIONARY } from "./payload-dictionary.ts";
import { coreOf, payloadLength, SHAPE_COUNT, writePayload } from "./payload-shapes.ts";
import type { ArchivedMessage } from "./segment-header.ts";

/*
 * Messages as columns. In this order: the version, how many bytes the payloads' cores have together, runs of equal shapes, then bit by
 * bit the columns of stream seqs, times and lengths; from the next whole byte on the cores, one behind the other, as a zstd frame.
 *
 * A core is what is left of a payload when everything is taken off that its shape and place imply (payload-shapes.ts). Any bytes can be
 * a payload, and come back as they were: what fits no shape is a core as a whole.
 */

const VERSION = 1;

/** Above it a few hundred tokens do not become smaller. */
const LEVEL = 6;
const ZSTD = {
  dictionary: PAYLOAD_DICTIONARY,
  params: { [constants.ZSTD_c_compressionLevel]: LEVEL },
};

/** Of the cores of a segment together. A batch has 16 MB; what says it is larger than this is no segment. */
const MAX_CORE_BYTES = 268_435_456;
const MAX_MESSAGES = 16_777_216;

/** What a segment's header says of its messages, and a reader knows before. */
export interface MessageContext {
  readonly count: number;
  /** Where the deltas begin: of the first message, or near it. */
  readonly streamSeq: StreamSeq;
  readonly storedAtUs: number;
  /** Of the first event of a log, whose seqs are dense; undefined where payloads are no events. */
  readonly firstSeq: Seq | undefined;
}

/**
 * @throws RangeError for numbers that are no safe integers from 0, more than 16,777,216 messages, and payloads of more than 256 MiB
 * together
 */
export function encodeMessages(messages: readonly ArchivedMessage[], context: MessageContext): Uint8Array {
  const { firstSeq } = context;
  if (messages.length > MAX_MESSAGES)
    throw new RangeError(`A segment of ${messages.length} messages is larger than ${MAX_MESSAGES}.`);
  const streamSeqs = new Float64Array(messages.length);
  const times = new Float64Array(messages.length);
  const lengths = new Float64Array(messages.length);
  const shapes = new Uint8Array(messages.length);
  const starts = new Uint32Array(messages.length);
  let coreBytes = 0;
  for (const [i, { streamSeq, storedAtUs, payload }] of messages.entries()) {
    const { shape, from, to } = coreOf(payload, firstSeq === undefined ? undefined : plus(firstSeq, i));
    streamSeqs[i] = checked(streamSeq);
    times[i] = checked(storedAtUs);
    lengths[i] = to - from;
    shapes[i] = shape;
    starts[i] = from;
    coreBytes += to - from;
  }
  if (coreBytes > MAX_CORE_BYTES)
    throw new RangeError(`A segment of ${coreBytes} bytes is larger than ${MAX_CORE_BYTES}.`);

  const writer = new BitWriter();
  writer.write(VERSION, 8);
  writer.writeVarint(coreBytes);
  writeRuns(writer, shapes);
  writeDeltas(writer, streamSeqs, context.streamSeq);
  writeDeltas(writer, times, context.storedAtUs);
  writeNumbers(writer, lengths);
  return Buffer.concat([
    writer.toBytes(),
    zstdCompressSync(joinCores(messages, { starts, lengths, coreBytes }), ZSTD),
  ]);
}

/** @throws RepriseError `archive_corrupt` */
export function decodeMessages(bytes: Uint8Array, context: MessageContext): ArchivedMessage[] {
  const { count, firstSeq = REQUEST_SEQ } = context;
  if (count > MAX_MESSAGES)
    throw archiveCorrupt(`A segment of ${count} messages is larger than ${MAX_MESSAGES}.`);
  const reader = new BitReader(bytes);
  const version = reader.read(8);
  if (version !== VERSION) throw archiveCorrupt(`A segment has the format ${version}; ${VERSION} is known.`);
  const coreBytes = reader.readVarint();
  if (coreBytes > MAX_CORE_BYTES)
    throw archiveCorrupt(`A segment of ${coreBytes} bytes is larger than ${MAX_CORE_BYTES}.`);
  const shapes = readRuns(reader, count);
  const streamSeqs = readDeltas(reader, count, context.streamSeq);
  const times = readDeltas(reader, count, context.storedAtUs);
  const lengths = readNumbers(reader, count);
  if (lengths.reduce((sum, length) => sum + length, 0) !== coreBytes)
    throw archiveCorrupt("The lengths of a segment's payloads are not those of its text.");

  const cores = decompress(reader.rest(), coreBytes);
  let size = 0;
  // Each column has `count` numbers.
  for (let i = 0; i < count; i++) size += payloadLength(shapes[i]!, plus(firstSeq, i), lengths[i]!);
  const payloads = new Uint8Array(size);
  const messages: ArchivedMessage[] = [];
  let at = 0;
  let coreAt = 0;
  for (let i = 0; i < count; i++) {
    // Each column has `count` numbers.
    const [shape, length, streamSeq, storedAtUs] = [shapes[i]!, lengths[i]!, streamSeqs[i]!, times[i]!];
    const payload = payloads.subarray(at, (at += payloadLength(shape, plus(firstSeq, i), length)));
    writePayload(payload, shape, plus(firstSeq, i), cores.subarray(coreAt, (coreAt += length)));
    messages.push({ streamSeq: asStreamSeq(streamSeq), storedAtUs, payload });
  }
  return messages;
}

function joinCores(
  messages: readonly ArchivedMessage[],
  { starts, lengths, coreBytes }: { starts: Uint32Array; lengths: Float64Array; coreBytes: number },
): Uint8Array {
  const cores = new Uint8Array(coreBytes);
  let at = 0;
  for (const [i, { payload }] of messages.entries()) {
    // Each message has a start and a length.
    const [start, length] = [starts[i]!, lengths[i]!];
    // Most cores are a few bytes: a loop is quicker than a view and a copy. A core ends within its payload.
    for (let from = start; from < start + length; from++) cores[at++] = payload[from]!;
  }
  return cores;
}

function decompress(frame: Uint8Array, length: number): Uint8Array {
  try {
    const bytes = zstdDecompressSync(frame, {
      dictionary: PAYLOAD_DICTIONARY,
      maxOutputLength: Math.max(length, 1),
    });
    if (bytes.length === length) return bytes;
  } catch (cause) {
    throw archiveCorrupt("A segment's text can't be decompressed.", cause);
  }
  throw archiveCorrupt(`A segment's text does not have ${length} bytes.`);
}

function writeRuns(writer: BitWriter, shapes: Uint8Array): void {
  for (let from = 0; from < shapes.length;) {
    let to = from + 1;
    while (to < shapes.length && shapes[to] === shapes[from]) to++;
    // `from` is less than the number of shapes.
    writer.write(shapes[from]!, 8);
    writer.writeVarint(to - from);
    from = to;
  }
}

function readRuns(reader: BitReader, count: number): Uint8Array {
  const shapes = new Uint8Array(count);
  for (let from = 0; from < count;) {
    const shape = reader.read(8);
    const length = reader.readVarint();
    if (shape >= SHAPE_COUNT || length === 0 || length > count - from)
      throw archiveCorrupt("A segment's shapes are not those of its messages.");
    shapes.fill(shape, from, (from += length));
  }
  return shapes;
}

function checked(number: number): number {
  if (!Number.isSafeInteger(number) || number < 0)
    throw new RangeError(`${number} is no safe integer from 0.`);
  return number;
}
