import type { ArchiveReader, LogEvent, LogLayout, LogOutline, PlacedSegment } from "@reprise/archive";
import { holdingModeration, Visibility } from "@reprise/moderation";
import { readPolicy } from "@reprise/stream";
import { type GenerationRef, peekType, type Seq, REQUEST_SEQ, FIRST_SEQ, plus } from "@reprise/protocol";

/** An event with the cursor that every reader gets with it. */
export interface ShownEvent extends LogEvent {
  readonly cursor: string;
}

export interface ShownEventsOptions {
  /** The first event. Default: the first that there is to show. */
  fromSeq?: Seq | undefined;
  /** Text as it was generated, and seq 0, instead of what a reader that comes now is shown. */
  original: boolean;
  /** The result of `logOf`, if it is known already. */
  layout?: Log;
}

type Log = LogLayout<PlacedSegment>;

/**
 * A log as a reader that comes now gets it: what was withdrawn is not there as it was, and what moderation has not let through is not there
 * at all. The cursors are those of the live stream, in both forms.
 * @throws RepriseError as `ArchiveReader.events`; `policy_unsupported`, unless `original`, when a later version wrote the log's policy
 */
export async function* shownEvents(
  reader: ArchiveReader,
  ref: GenerationRef,
  { fromSeq = REQUEST_SEQ, original, layout: known }: ShownEventsOptions,
): AsyncGenerator<ShownEvent> {
  const layout = known ?? (await reader.logOf(ref));
  const outline = await reader.outlineOf(ref, layout);
  if (original) {
    for await (const event of reader.events(ref, { fromSeq, layout }))
      yield { ...event, cursor: outline.cursorAt(event.seq) };
    return;
  }
  const withdrawals = outline.withdrawals();
  const shownSeq = await shownSeqOf(reader, ref, layout, outline);
  for await (const event of reader.events(ref, { fromSeq: Math.max(FIRST_SEQ, fromSeq), layout })) {
    if (event.seq > shownSeq) return;
    const payload = withdrawals.project(event.seq, event.payload);
    yield { ...event, payload, cursor: outline.cursorAt(event.seq) };
  }
}

/** The last event that readers may be sent. Of a log whose readers do not wait for moderation, or that has lost its request, it is the last one. */
async function shownSeqOf(
  reader: ArchiveReader,
  ref: GenerationRef,
  layout: Log,
  { lastSeq, notable }: LogOutline,
): Promise<Seq> {
  if (layout.stretches[0]?.fromSeq !== 0) return lastSeq;
  const { value: requested } = await reader.events(ref, { layout }).next();
  const moderation = holdingModeration(requested && readPolicy(requested.payload));
  if (!moderation) return lastSeq;
  const visibility = new Visibility(moderation);
  for (const { event } of notable) visibility.took(event.seq, event.type, () => event);
  const verdict = await reader.verdictOf(ref);
  if (verdict) visibility.accept(verdict, lastSeq);
  if (moderation.mode === "retract" && moderation.max_lead_characters !== undefined) {
    for await (const { seq, payload } of reader.events(ref, {
      fromSeq: plus(visibility.settled, 1),
      layout,
    })) {
      visibility.reached(seq, peekType(payload), payload);
      if (visibility.shownSeq(seq) < seq) break;
    }
  }
  return visibility.shownSeq(lastSeq);
}
