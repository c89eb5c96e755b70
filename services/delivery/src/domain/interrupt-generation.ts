import { appendDecision } from "@reprise/stream";
import { createWriterName } from "@reprise/broker";
import {
  type Generation,
  type GenerationRef,
  INTERRUPTED,
  type MediaTranscript,
  parseCursor,
  plus,
  REQUEST_SEQ,
  type Seq,
} from "@reprise/protocol";
import { foreignCursor, resumeFrom } from "./resume-cursor.ts";
import { type ReadSources, showAfter } from "./shown-generation.ts";

const PARAM = "heard";

export interface InterruptSources extends ReadSources {
  readonly inputs: {
    /** The last `input.commit`; undefined for a generation without an input log. */
    committedOf(ref: GenerationRef): Promise<Seq | undefined>;
  };
}

/**
 * Appends the rewind by which the output after a reader's position does not count, and on which the generation's worker stops its engine. Nothing is appended
 * if an interrupt at this position, or an earlier one, is there already, or there is nothing after it and nothing to stop: the generation has ended, or has
 * said nothing since the last interrupt, and no message has come.
 * @param heard the cursor of the last event that the reader has heard
 * @throws RepriseError `cursor_invalid`, `cursor_expired`, `events_lost`, `generation_not_found`, `generation_expired`, `generation_erased`,
 *   `broker_unavailable`
 */
export async function interruptGeneration(
  sources: InterruptSources,
  ref: GenerationRef,
  heard: string,
): Promise<Generation> {
  const cursor = parseCursor(heard, PARAM);
  const cache = await sources.hub.open(ref);
  const heardSeq = plus(await resumeFrom(sources.hub, cache, { cursor, param: PARAM }), -1);
  if (heardSeq > cache.shownSeq) throw foreignCursor(PARAM);
  const committed = await sources.inputs.committedOf(ref);
  const decision = await appendDecision({
    ...sources.log,
    ref,
    writer: createWriterName(),
    decide(found) {
      if (changesNothing(found, heardSeq, committed ?? REQUEST_SEQ)) return undefined;
      return {
        type: "output.rewind",
        to_seq: found.answeredAt(heardSeq),
        reason: INTERRUPTED,
        ...(committed !== undefined && { consumed: Math.max(committed, found.consumed) }),
      };
    },
  });
  const { seq } = decision.transcript.cursor;
  if (decision.appended) sources.hub.expect(ref, seq);
  return showAfter(sources, ref, decision);
}

function changesNothing(
  { interrupt, ended, saidSeq, consumed }: MediaTranscript,
  heardSeq: Seq,
  committed: Seq,
): boolean {
  if (interrupt && heardSeq < interrupt.seq && heardSeq >= interrupt.to_seq) return true;
  const isStopped = interrupt !== undefined && saidSeq < interrupt.seq && committed <= consumed;
  return (ended || isStopped) && heardSeq >= saidSeq;
}
