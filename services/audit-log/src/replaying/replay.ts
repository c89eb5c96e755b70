import {
  type ArchiveReader,
  asShownTo,
  type LogEvent,
  type LogLayout,
  type PlacedSegment,
  type SeqRange,
} from "@reprise/archive";
import type { GenerationRef, DeliveryMark } from "@reprise/protocol";
import { readOps } from "../answering/generation-record.ts";
import { type ShownEvent, shownEvents } from "../answering/shown-events.ts";

export interface ReplayOptions {
  readonly ref: GenerationRef;
  /** A connection: what it was handed, instead of what a reader that comes now is shown. */
  readonly shownTo: string | undefined;
  /** Text as it was generated, and seq 0. Not of what a connection was handed. */
  readonly original: boolean;
}

/** The result of opening a replay. */
export type Replay =
  | {
      readonly kind: "events";
      readonly events: AsyncIterable<ShownEvent>;
      /** The mark of the connection. */
      readonly mark: DeliveryMark | undefined;
    }
  /** Events of the log are not in the archive. */
  | { readonly kind: "gap"; readonly holes: readonly SeqRange[] }
  /** No such connection is recorded; these are. */
  | { readonly kind: "reader_unknown"; readonly readers: readonly DeliveryMark[] };

/** @throws RepriseError `generation_not_found`, `generation_erased`, `archive_unavailable`, `archive_corrupt` */
export async function openReplay(
  reader: ArchiveReader,
  { ref, shownTo, original }: ReplayOptions,
): Promise<Replay> {
  const layout = await reader.logOf(ref);
  if (layout.holes.length > 0) return { kind: "gap", holes: layout.holes };
  if (shownTo === undefined)
    return { kind: "events", events: shownEvents(reader, ref, { original, layout }), mark: undefined };
  const { readers } = await readOps(reader, ref);
  const mark = readers.find((one) => one.reader === shownTo);
  if (!mark) return { kind: "reader_unknown", readers };
  return { kind: "events", events: handedEvents(reader, ref, layout, mark), mark };
}

async function* handedEvents(
  reader: ArchiveReader,
  ref: GenerationRef,
  layout: LogLayout<PlacedSegment>,
  mark: DeliveryMark,
): AsyncGenerator<ShownEvent> {
  const outline = await reader.outlineOf(ref, layout);
  const events: AsyncIterable<LogEvent> = reader.events(ref, { fromSeq: mark.from_seq, layout });
  for await (const event of asShownTo(events, outline, mark))
    yield { ...event, cursor: outline.cursorAt(event.seq) };
}

export interface PaceOptions {
  /** Speed relative to the generation. Infinity: no pauses. */
  speed: number;
  /** Milliseconds, only ever more. */
  now: () => number;
  /** Resolves after this many milliseconds. */
  pause: (ms: number) => Promise<unknown>;
}

/** Hands on events when they are due: as long after the first one as they were stored, divided by `speed`. The first one is due at once. */
export async function* inPace<E extends Pick<LogEvent, "storedAtUs">>(
  events: AsyncIterable<E>,
  { speed, now, pause }: PaceOptions,
): AsyncGenerator<E> {
  let first: { readonly storedAtUs: number; readonly startedAt: number } | undefined;
  for await (const event of events) {
    first ??= { storedAtUs: event.storedAtUs, startedAt: now() };
    const dueAt = first.startedAt + (event.storedAtUs - first.storedAtUs) / 1_000 / speed;
    const waitMs = dueAt - now();
    if (waitMs > 0) await pause(waitMs);
    yield event;
  }
}
