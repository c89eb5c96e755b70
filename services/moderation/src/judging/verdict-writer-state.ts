import type { StoredVerdict } from "@reprise/moderation";
import { type JudgedBy, type Verdict, type StreamSeq, type Seq, STREAM_START } from "@reprise/protocol";
import { discardVerdict, type JudgedSoFar, mergeVerdict } from "../domain/merge-verdict.ts";

/*
 * The stored verdict of one generation, the one being published, and the one that waits: a pure state machine. `VerdictWriter` publishes for it
 * and reports the results.
 *
 *   phase       update                       store       stored    refused                     failed
 *   stored      updated, or storing if due   -           !         !                           !
 *   updated     updated, or storing if due   storing     !         !                           !
 *   storing     overtaken                    -           stored    storing; updated after 3    updated
 *   overtaken   overtaken                    -           updated   overtaken; updated after 3  updated
 *
 *   -  ignored   !  throws: nothing is being published
 *
 * `folded` and `discard` change no phase. An update is due when it is urgent, or 64 events were folded since the last one was published. The
 * published verdict is the last update merged with the stored one: `refused` brings the verdict that another replica has stored, and both are merged again. An
 * update that has overtaken the published one waits for the next `store`, or for the next update that is due.
 *
 * `unstoredFrom` is the first event that no stored verdict covers: it is settled only when the verdict that covers it is stored. An
 * event is folded, then covered by an update, then published; a refused or failed store takes it back to the update.
 */

/** An update of what was judged. */
export interface VerdictUpdate extends JudgedSoFar {
  /** True if it covers every event that was folded; else a further update follows. */
  readonly isComplete: boolean;
  /** True if it ends the generation, or decides something: then it is stored at once. */
  readonly isUrgent: boolean;
}

/** An update that is being stored. */
interface OnItsWay {
  readonly update: VerdictUpdate;
  readonly verdict: Verdict;
  readonly attempts: number;
  /** The stream sequence of the first event that it covers and the stored verdict does not. */
  readonly from: StreamSeq | undefined;
}

export interface WriterState {
  readonly judgedBy: JudgedBy;
  /** The stored verdict, unless discarded, and its place in the stream; `STREAM_START` for none. */
  readonly stored: Verdict | undefined;
  readonly streamSeq: StreamSeq;
  /** The newest update, unless it is on its way or stored. */
  readonly update: VerdictUpdate | undefined;
  readonly onItsWay: OnItsWay | undefined;
  /** The stream sequences of the first event that no update covers, and of the first that an update covers that waits. */
  readonly foldedFrom: StreamSeq | undefined;
  readonly updatedFrom: StreamSeq | undefined;
  /** Events that were folded since a verdict was published. */
  readonly foldedCount: number;
}

type WriterPhase = "stored" | "updated" | "storing" | "overtaken";

export type WriterInput =
  /** An event at this place of the stream is judged. */
  | { readonly type: "folded"; readonly streamSeq: StreamSeq }
  | { readonly type: "update"; readonly update: VerdictUpdate }
  | { readonly type: "store" }
  | { readonly type: "stored"; readonly streamSeq: StreamSeq }
  /** Another verdict is stored, or no answer came. @property present what is stored, if it could be read */
  | { readonly type: "refused"; readonly present: StoredVerdict | undefined }
  /** The client does not send it. */
  | { readonly type: "failed" }
  /** The log has another event than the one that was judged, from this one on. */
  | { readonly type: "discard"; readonly fromSeq: Seq };

/** Publish this verdict after the one with this stream sequence. */
export interface PublishVerdict {
  readonly verdict: Verdict;
  readonly expectedLast: StreamSeq;
}

export interface Transition {
  readonly state: WriterState;
  readonly effect?: PublishVerdict;
}

const EVERY_EVENTS = 64;
const MAX_ATTEMPTS = 3;

export function initialState(judgedBy: JudgedBy, present: StoredVerdict | undefined): WriterState {
  return {
    judgedBy,
    stored: present?.verdict,
    streamSeq: present?.streamSeq ?? STREAM_START,
    update: undefined,
    onItsWay: undefined,
    foldedFrom: undefined,
    updatedFrom: undefined,
    foldedCount: 0,
  };
}

export function phaseOf({ update, onItsWay }: WriterState): WriterPhase {
  if (onItsWay) return update ? "overtaken" : "storing";
  return update ? "updated" : "stored";
}

export function unstoredFrom({ onItsWay, updatedFrom, foldedFrom }: WriterState): StreamSeq | undefined {
  return onItsWay?.from ?? updatedFrom ?? foldedFrom;
}

/** @throws Error for an answer when nothing is on its way */
export function next(state: WriterState, input: WriterInput): Transition {
  switch (input.type) {
    case "folded": {
      const { foldedFrom = input.streamSeq, foldedCount } = state;
      return { state: { ...state, foldedFrom, foldedCount: foldedCount + 1 } };
    }
    case "discard":
      return { state: { ...state, stored: discardVerdict(state.stored, input.fromSeq) } };
    case "update": {
      const updated = withUpdate(state, input.update);
      const isDue = input.update.isUrgent || state.foldedCount >= EVERY_EVENTS;
      return isDue ? startStoring(updated) : { state: updated };
    }
    case "store":
      return startStoring(state);
    case "stored": {
      const { verdict } = onItsWayIn(state, input);
      return { state: { ...state, stored: verdict, streamSeq: input.streamSeq, onItsWay: undefined } };
    }
    case "refused": {
      const { attempts, update, from } = onItsWayIn(state, input);
      const { verdict: stored, streamSeq } = input.present ?? {
        verdict: state.stored,
        streamSeq: state.streamSeq,
      };
      const known = { ...state, stored, streamSeq };
      return attempts < MAX_ATTEMPTS
        ? publish(known, { update, from, attempts: attempts + 1 })
        : takeBack(known);
    }
    case "failed":
      onItsWayIn(state, input);
      return takeBack(state);
  }
}

function withUpdate(state: WriterState, update: VerdictUpdate): WriterState {
  if (!update.isComplete) return { ...state, update };
  return { ...state, update, updatedFrom: state.updatedFrom ?? state.foldedFrom, foldedFrom: undefined };
}

function startStoring(state: WriterState): Transition {
  const { update, updatedFrom } = state;
  if (phaseOf(state) !== "updated" || !update) return { state };
  const started = { ...state, update: undefined, updatedFrom: undefined, foldedCount: 0 };
  return publish(started, { update, from: updatedFrom, attempts: 1 });
}

function publish(state: WriterState, sent: Omit<OnItsWay, "verdict">): Transition {
  const verdict = mergeVerdict(state.stored, sent.update, state.judgedBy);
  return {
    state: { ...state, onItsWay: { ...sent, verdict } },
    effect: { verdict, expectedLast: state.streamSeq },
  };
}

/** Takes back a verdict that could not be stored: it waits again, unless a newer update does. */
function takeBack(state: WriterState): Transition {
  const { onItsWay, update = onItsWay?.update, updatedFrom } = state;
  return { state: { ...state, update, updatedFrom: onItsWay?.from ?? updatedFrom, onItsWay: undefined } };
}

function onItsWayIn({ onItsWay }: WriterState, { type }: WriterInput): OnItsWay {
  if (!onItsWay) throw new Error(`A verdict was reported as ${type}, and none is being stored.`);
  return onItsWay;
}
