import { createHash } from "node:crypto";
import { type Broker, readAllMessages } from "@reprise/log";
import { STREAM_START } from "@reprise/protocol";

/** What lies at one place of a stream, as one line. */
type Place = string;

/** A stream's messages, by their places. */
export type StreamContents = ReadonlyMap<number, Place>;

const BATCH = {
  afterStreamSeq: STREAM_START,
  subject: ">",
  maxMessages: 1_000,
  maxBytes: 1_000_000,
  raw: true,
};

/** Everything that a broker holds in these streams. */
export async function readContents(
  { reads }: Broker,
  streams: readonly string[],
): Promise<ReadonlyMap<string, StreamContents>> {
  const contents = new Map<string, StreamContents>();
  for (const stream of streams) {
    const places = new Map<number, Place>();
    for await (const { streamSeq, subject, storedAtUs, payload, isPublished } of readAllMessages(
      reads,
      stream,
      BATCH,
    )) {
      const digest = createHash("sha256").update(payload).digest("base64");
      places.set(streamSeq, `${subject} ${storedAtUs} ${digest} ${isPublished}`);
    }
    contents.set(stream, places);
  }
  return contents;
}

/** A stream as it was copied. */
export interface CopiedStream {
  readonly name: string;
  readonly lastSeq: number;
  /** Whether messages go by themselves: replaced by newer ones of their subject, or done. */
  readonly isThinned: boolean;
}

/**
 * What a restored stream has that the lost one had not, and what it lacks of it up to the place at which it was copied.
 * @param before what was there when the copy began
 * @param lost what was there in the end
 */
export function compareStream(
  { name, lastSeq, isThinned }: CopiedStream,
  before: StreamContents,
  lost: StreamContents,
  restored: StreamContents,
): string[] {
  const problems: string[] = [];
  for (const [seq, place] of restored) {
    if (seq > lastSeq) problems.push(`${name} has a message at ${seq}, behind the copy's end ${lastSeq}`);
    const was = lost.get(seq) ?? before.get(seq);
    // What came and was replaced between the two readings was seen by neither.
    if (was !== undefined ? was !== place : !isThinned)
      problems.push(`${name} has at ${seq}: ${place}; it was: ${was ?? "nothing"}`);
  }
  for (const [seq, place] of lost)
    if (seq <= lastSeq && !restored.has(seq)) problems.push(`${name} lacks at ${seq}: ${place}`);
  if (!isThinned)
    for (const [seq, place] of before)
      if (restored.get(seq) !== place)
        problems.push(`${name} lacks at ${seq}, from before the copy: ${place}`);
  return problems;
}
