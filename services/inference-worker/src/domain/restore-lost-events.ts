import {
  decodeEvent,
  type EventDraft,
  INTERRUPTED,
  isKnownEvent,
  type KnownEvent,
  type TurnItem,
  Withdrawals,
  type WorkerId,
  type Seq,
  asSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import { RunTranscript } from "./run-transcript.ts";

export interface RecoveryInput {
  /** The log as its writer knows it, every event acknowledged, from seq 0 on. */
  readonly held: readonly Uint8Array[];
  /** The number of events, from the first, that the broker still has. */
  readonly kept: number;
  readonly worker: WorkerId;
  /** The nonce of the attempt that restores the events. */
  readonly nonce: string;
}

/**
 * Returns the events that restore the lost end of a log. They are an attempt of their own, because their sequence numbers differ from
 * those of the lost events: a cursor of a lost event then matches nothing. The attempt ends at once with a handover, so that
 * the next attempt begins in the usual way.
 *
 * Text that moderation has withdrawn is restored as readers were to see it, so its withdrawal is not repeated. A withdrawal that
 * reaches into the part that is left is repeated for that part; a halt is always repeated.
 */
export function restoreLostEvents({ held, kept, worker, nonce }: RecoveryInput): EventDraft[] {
  const shown = toShown(held);
  const transcript = new RunTranscript();
  for (const event of shown) transcript.apply(event);
  const [requested] = shown;
  // Without its request a generation is only to be ended, and its end is planned from what is left.
  if (requested?.type !== "generation.requested") return [];
  const lost = shown.filter(({ seq }) => seq >= Math.max(kept, 1));
  const attempt = transcript.attempt + 1;
  const { input_tokens: inputTokens } = transcript.usage;
  const isRetold = lost.some((event) => event.type === "output.rewind" && event.to_seq >= kept);
  const drafts: EventDraft[] = [
    ...(kept === 0 ? [withoutSeq(requested)] : []),
    {
      type: "generation.started",
      attempt,
      worker,
      model: transcript.servedModel ?? requested.request.model,
      nonce,
      ...(inputTokens !== null && { input_tokens: inputTokens }),
      reason: "log_lost",
    },
    ...lost.flatMap((event) => toRedaction(event, kept)),
    ...(isRetold ? retold(transcript) : lost.flatMap((event) => toOutput(event, kept))),
  ];
  if (isRetold) drafts.push(...toPlace(transcript, asSeq(kept + drafts.length - 1)));
  return [
    ...drafts,
    ...lost.flatMap((event) => toHalt(event, kept, asSeq(kept + drafts.length))),
    { type: "attempt.ended", attempt, reason: "handover" },
  ];
}

/** The events as a reader that comes now gets them. */
function toShown(held: readonly Uint8Array[]): KnownEvent[] {
  const withdrawals = new Withdrawals();
  for (const payload of held) withdrawals.apply(decodeEvent(payload));
  return held
    .map((payload, seq) => decodeEvent(withdrawals.project(asSeq(seq), payload)))
    .filter((event) => isKnownEvent(event));
}

/** Restores a lost redaction of the part that is left: its first event gets the replacement. */
function toRedaction(event: KnownEvent, kept: number): EventDraft[] {
  if (event.type !== "moderation.redacted" || event.from_seq >= kept) return [];
  return [withoutSeq({ ...event, to_seq: Math.min(event.to_seq, asSeq(kept - 1)) })];
}

/**
 * A halt that begins in what is left begins there again; one that does not has nothing to take, for what it took is not put back. Where
 * all is told again the former takes that too: rather too much than too little.
 * @param seq of the halt in its new place
 */
function toHalt(event: KnownEvent, kept: number, seq: Seq): EventDraft[] {
  if (event.type !== "moderation.halted") return [];
  return [withoutSeq(event.from_seq < kept ? event : { ...event, from_seq: seq, replacement: "" })];
}

/**
 * Where a lost rewind names a place that is lost too: everything is withdrawn, and what counts in the end is told from the beginning.
 * The tokens of reasoning, which count against the limit, have an event of their own. A summary of it, and annotations, whose places in the log are
 * others now, are not told again.
 */
function retold(transcript: RunTranscript): EventDraft[] {
  const { turns, refusal, refusalTokens, reasoningTokens, turnReasoned } = transcript;
  const reasoning: EventDraft[] =
    reasoningTokens > 0 ? [{ type: "reasoning.delta", text: "", tokens: reasoningTokens }] : [];
  const told = turns.map((item) => toDraft(item, transcript));
  for (const { seq: _seq, blob, kind, ...about } of transcript.blobs)
    told.push({ type: "output.blob", kind: kind as BlobEvent["kind"], blob, ...about });
  if (refusal !== "") told.push({ type: "refusal.delta", text: refusal, tokens: refusalTokens });
  return [
    { type: "output.rewind", to_seq: REQUEST_SEQ, reason: "log_lost" },
    ...(turnReasoned ? [...told, ...reasoning] : [...reasoning, ...told]),
  ];
}

/**
 * Says again, after what is told again, that a reader has interrupted it, and how far its input is consumed: by a rewind that takes nothing back.
 * @param seq of the last event that is told again
 */
function toPlace({ interrupt, consumed }: RunTranscript, seq: Seq): EventDraft[] {
  if (!interrupt && consumed === REQUEST_SEQ) return [];
  const reason = interrupt ? INTERRUPTED : "log_lost";
  return [{ type: "output.rewind", to_seq: seq, reason, ...(consumed > 0 && { consumed }) }];
}

function toDraft(item: TurnItem, transcript: RunTranscript): EventDraft {
  switch (item.type) {
    case "text":
      return { type: "output.delta", text: item.text, tokens: item.tokens };
    case "reasoning":
      return { type: "reasoning.delta", text: item.text, tokens: 0 };
    case "sealed":
      return {
        type: "reasoning.sealed",
        encrypted: item.encrypted,
        ...(item.id !== undefined && { id: item.id }),
      };
    case "tool_call":
      return {
        type: "tool.call",
        call_id: item.call_id,
        name: item.name,
        arguments: item.arguments,
        ...transcript.callCount(item.call_id),
        ...(item.provider_state && { provider_state: item.provider_state }),
      };
    case "tool_result":
      return {
        type: "tool.result",
        call_id: item.call_id,
        ...(item.output !== undefined && { output: item.output }),
        ...(item.content && { content: item.content }),
      };
  }
}

/** Returns the output and the tool answers, without their worker and time. */
function toOutput(event: KnownEvent, kept: number): EventDraft[] {
  switch (event.type) {
    case "output.delta":
    case "reasoning.delta":
    case "refusal.delta":
    case "reasoning.summary.delta":
    case "reasoning.sealed":
    case "output.rewind":
    case "tool.call":
    case "tool.result":
      return [withoutSeq(event)];
    case "output.blob":
      // One that was withdrawn says nothing any more.
      return event.blob === undefined ? [] : [withoutSeq(event)];
    case "output.annotation":
      return [toAnnotation(event, kept)];
    default:
      return [];
  }
}

/** Its range has other numbers now where that was lost too: it is told without one. */
function toAnnotation(event: AnnotationEvent, kept: number): EventDraft {
  if (event.to_seq !== undefined && event.to_seq < kept) return withoutSeq(event);
  const { from_seq: _from, to_seq: _to, from_offset: _begin, to_offset: _end, ...rest } = event;
  return withoutSeq(rest);
}

type BlobEvent = Extract<KnownEvent, { type: "output.blob" }>;
type AnnotationEvent = Extract<KnownEvent, { type: "output.annotation" }>;

function withoutSeq({ seq: _seq, ...draft }: KnownEvent): EventDraft {
  return draft;
}
