import {
  CHECKPOINTS_STREAM,
  checkpointSubject,
  type GenerationRef,
  type StreamSeq,
  asStreamSeq,
} from "@reprise/protocol";
import {
  type Broker,
  HEADER,
  getLastMessage,
  headerOf,
  type StoredMessage,
  toMicroseconds,
} from "@reprise/broker";
import type { GenerationLog } from "../read/generation-log.ts";

/*
 * The interval of `CHECKPOINTS` that has held the text of an erased generation. The broker knows only its last checkpoint, but every earlier one
 * was stored between its first event and that one. The marker that replaces it records the interval: a process that continues an interrupted
 * erasure has no other source.
 */
export interface TextInterval {
  /** When the first event was stored, and the last checkpoint: microseconds since 1970, by the broker's clock. */
  readonly sinceUs: number;
  readonly untilUs: number;
  /** Where the last checkpoint lay. */
  readonly lastStreamSeq: StreamSeq;
}

/** The interval of a marker where there was no text. */
const NO_TEXT = "1";
const STRETCH = /^(\d+) (\d+) (\d+)$/;

/**
 * @param first the log's first event, where it has one
 * @param last what the marker takes the place of
 */
export function encodeTextInterval(
  first: StoredMessage | undefined,
  last: StoredMessage | undefined,
): string {
  if (!last || last.payload.length === 0) return NO_TEXT;
  return `${first ? toMicroseconds(first.time) : 0} ${toMicroseconds(last.time)} ${last.streamSeq}`;
}

/**
 * The erased generations whose markers name an interval that no `clearTextIntervals` has cleared.
 * @throws RepriseError `broker_unavailable`
 */
export async function readTextIntervals(
  broker: Broker,
  refs: readonly GenerationRef[],
): Promise<TextInterval[]> {
  const found = await Promise.all(refs.map((ref) => readMarker(broker, ref)));
  return mergeIntervals(found.flatMap((marker) => marker?.stretch ?? []));
}

/** To be called once nothing of these generations is left in the intervals' files: it removes the intervals from the markers. */
export async function clearTextIntervals(
  { broker, log }: { readonly broker: Broker; readonly log: GenerationLog },
  refs: readonly GenerationRef[],
): Promise<void> {
  for (const ref of refs) {
    const marker = await readMarker(broker, ref);
    if (!marker) continue;
    // What was written here meanwhile is found, and taken away, by purging again; one that is not stored is cleared again.
    await log.publishCheckpoint(checkpointSubject(ref), new Uint8Array(), {
      expectedLast: marker.streamSeq,
      extra: { [HEADER.erased]: NO_TEXT },
    });
  }
}

async function readMarker(
  { main }: Broker,
  ref: GenerationRef,
): Promise<{ stretch: TextInterval; streamSeq: StreamSeq } | undefined> {
  const marker = await getLastMessage(main, CHECKPOINTS_STREAM, checkpointSubject(ref));
  const interval = marker && STRETCH.exec(headerOf(marker, HEADER.erased) ?? "");
  if (!interval) return undefined;
  const [sinceUs = 0, untilUs = 0, lastStreamSeq = 0] = interval.slice(1).map(Number);
  return {
    stretch: { sinceUs, untilUs, lastStreamSeq: asStreamSeq(lastStreamSeq) },
    streamSeq: marker.streamSeq,
  };
}

/** Those that overlap as one: what lies in both is gone through once. */
export function mergeIntervals(stretches: readonly TextInterval[]): TextInterval[] {
  const joined: TextInterval[] = [];
  for (const next of stretches.toSorted((a, b) => a.sinceUs - b.sinceUs)) {
    const before = joined.at(-1);
    if (!before || next.sinceUs > before.untilUs) joined.push(next);
    else if (next.untilUs > before.untilUs) joined[joined.length - 1] = { ...next, sinceUs: before.sinceUs };
  }
  return joined;
}
