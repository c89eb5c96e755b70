import { type StreamSeq, type Seq, plus, asStreamSeq, REQUEST_SEQ } from "@reprise/protocol";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { archiveCorrupt } from "../store/archive-corrupt.ts";
import { readColumn, writeColumn } from "./number-column.ts";
import type { ArchivedMessage } from "./segment-header.ts";

/*
 * Messages as columns: a version, then one zstd frame with six columns of numbers and the text. Consecutive events of a log differ in
 * a few characters, so each payload is stored as what it does not share with the one before: the length of the common beginning, the
 * length of the common end, and the bytes between. The `{"seq":<n>,` that an event's place in its log implies is left out.
 *
 * Any bytes can be a payload, and come back as they were.
 */

const VERSION = 1;

/** A higher level does not make a few hundred tokens smaller. */
const PARAMS = { params: { [constants.ZSTD_c_compressionLevel]: 6 } };

/** Limit of a segment's payloads together. A batch has 16 MB. */
const MAX_BYTES = 268_435_456;
const MAX_MESSAGES = 16_777_216;
const COLUMNS = 6;
const BYTES_PER_NUMBER = 8;
const NO_BYTES = new Uint8Array();

/** The properties of a segment's messages, from its header. */
export interface MessageContext {
  readonly count: number;
  /** Where the deltas begin: of the first message, or near it. */
  readonly streamSeq: StreamSeq;
  readonly storedAtUs: number;
  /** Seq of the first event of a log, whose seqs are dense; undefined if the payloads are no events. */
  readonly firstSeq: Seq | undefined;
}

/**
 * @throws RangeError for numbers that are no safe integers from 0, more than 16,777,216 messages, and payloads of more than 256 MiB
 * together
 */
export function encodeMessages(messages: readonly ArchivedMessage[], context: MessageContext): Uint8Array {
  const { length: count } = messages;
  if (count > MAX_MESSAGES)
    throw new RangeError(`A segment of ${count} messages is larger than ${MAX_MESSAGES}.`);
  const size = messages.reduce((sum, { payload }) => sum + payload.length, 0);
  if (size > MAX_BYTES) throw new RangeError(`A segment of ${size} bytes is larger than ${MAX_BYTES}.`);
  const [places, times, implied, starts, ends, lengths] = Array.from(
    { length: COLUMNS },
    () => new Float64Array(count),
  ) as Columns;
  const text = new Uint8Array(size);
  let textLength = 0;
  let [place, time]: [number, number] = [context.streamSeq, context.storedAtUs];
  let before: Uint8Array = NO_BYTES;
  for (const [i, { streamSeq, storedAtUs, payload }] of messages.entries()) {
    places[i] = checked(streamSeq) - place;
    times[i] = checked(storedAtUs) - time;
    [place, time] = [streamSeq, storedAtUs];
    const head = context.firstSeq === undefined ? "" : headOf(plus(context.firstSeq, i));
    const isImplied = head !== "" && beginsWith(payload, head);
    const body = isImplied ? payload.subarray(head.length) : payload;
    const start = sharedStart(body, before);
    const end = sharedEnd(body, before, start);
    implied[i] = isImplied ? 1 : 0;
    starts[i] = start;
    ends[i] = end;
    lengths[i] = body.length - start - end;
    // Most differences are a few bytes: a loop is quicker than a view and a copy.
    for (let at = start; at < body.length - end; at++) text[textLength++] = body[at]!;
    before = body;
  }
  const columns = [places, times, implied, starts, ends, lengths].map(writeColumn);
  const frame = zstdCompressSync(Buffer.concat([...columns, text.subarray(0, textLength)]), PARAMS);
  return Buffer.concat([Uint8Array.of(VERSION), frame]);
}

/** @throws RepriseError `archive_corrupt` */
export function decodeMessages(bytes: Uint8Array, context: MessageContext): ArchivedMessage[] {
  const { count, firstSeq = REQUEST_SEQ } = context;
  if (count > MAX_MESSAGES)
    throw archiveCorrupt(`A segment of ${count} messages is larger than ${MAX_MESSAGES}.`);
  if (bytes[0] !== VERSION)
    throw archiveCorrupt(`A segment has the format ${bytes[0]}; ${VERSION} is known.`);
  const content = decompress(bytes.subarray(1), MAX_BYTES + COLUMNS * (1 + BYTES_PER_NUMBER * count));
  let at = 0;
  const [places, times, implied, starts, ends, lengths] = Array.from({ length: COLUMNS }, () => {
    const column = readColumn(content.subarray(at), count);
    at += column.bytes;
    return column.numbers;
  }) as Columns;
  const heads = Array.from(implied, (isImplied, i) => (isImplied === 0 ? "" : headOf(plus(firstSeq, i))));
  let size = 0;
  let [bodyLength, textLength] = [0, 0];
  for (let i = 0; i < count; i++) {
    // Each column has `count` numbers.
    const [start, end, length] = [starts[i]!, ends[i]!, lengths[i]!];
    if (start < 0 || end < 0 || length < 0 || start + end > bodyLength)
      throw archiveCorrupt("The lengths of a segment's payloads are not those of its text.");
    bodyLength = start + length + end;
    textLength += length;
    size += heads[i]!.length + bodyLength;
    if (size > MAX_BYTES) throw archiveCorrupt(`A segment has more than ${MAX_BYTES} bytes.`);
  }
  if (at + textLength !== content.length)
    throw archiveCorrupt("A segment has another length than its payloads.");

  // Most differences are a few bytes: one buffer for all payloads, and no other views of it, make reading twice as quick.
  const payloads = new Uint8Array(size);
  const messages: ArchivedMessage[] = [];
  let [place, time]: [number, number] = [context.streamSeq, context.storedAtUs];
  let [from, to] = [0, 0];
  for (let i = 0; i < count; i++) {
    const [start, end, length, head] = [starts[i]!, ends[i]!, lengths[i]!, heads[i]!];
    const payloadAt = to;
    for (let char = 0; char < head.length; char++) payloads[to++] = head.charCodeAt(char);
    const body = to;
    payloads.copyWithin(to, from, from + start);
    to += start;
    for (const textEnd = at + length; at < textEnd; at++) payloads[to++] = content[at]!;
    payloads.copyWithin(to, payloadAt - end, payloadAt);
    to += end;
    from = body;
    place = summed(place, places[i]!);
    time = summed(time, times[i]!);
    const payload = payloads.subarray(payloadAt, to);
    messages.push({ streamSeq: asStreamSeq(place), storedAtUs: time, payload });
  }
  return messages;
}

type Numbers = Float64Array;
type Columns = [Numbers, Numbers, Numbers, Numbers, Numbers, Numbers];

/** Returns ASCII: each character is a byte. */
function headOf(seq: Seq): string {
  return `{"seq":${seq},`;
}

function beginsWith(payload: Uint8Array, head: string): boolean {
  for (let i = 0; i < head.length; i++) if (payload[i] !== head.charCodeAt(i)) return false;
  return true;
}

function sharedStart(one: Uint8Array, other: Uint8Array): number {
  const most = Math.min(one.length, other.length);
  let shared = 0;
  while (shared < most && one[shared] === other[shared]) shared++;
  return shared;
}

/** @param start the bytes at the beginning that are shared already */
function sharedEnd(one: Uint8Array, other: Uint8Array, start: number): number {
  const most = Math.min(one.length, other.length) - start;
  let shared = 0;
  while (shared < most && one[one.length - 1 - shared] === other[other.length - 1 - shared]) shared++;
  return shared;
}

function decompress(frame: Uint8Array, maxOutputLength: number): Uint8Array {
  try {
    return zstdDecompressSync(frame, { maxOutputLength });
  } catch (cause) {
    throw archiveCorrupt("A segment can't be decompressed.", cause);
  }
}

function checked(number: number): number {
  if (!Number.isSafeInteger(number) || number < 0)
    throw new RangeError(`${number} is no safe integer from 0.`);
  return number;
}

function summed(before: number, delta: number): number {
  const sum = before + delta;
  if (!Number.isSafeInteger(sum) || sum < 0) throw archiveCorrupt("A number of a segment is too large.");
  return sum;
}
