import type {
  EventDraft,
  KnownEvent,
  OutputItem,
  RequestedEvent,
  Transcript,
  WorkerId,
} from "@reprise/protocol";

export interface Restoration {
  /** The log as its writer knows it, every event acknowledged. */
  readonly held: readonly KnownEvent[];
  /** How many of them, from the first on, the broker still has. */
  readonly kept: number;
  /** What `held` says, folded. */
  readonly transcript: Transcript;
  readonly worker: WorkerId;
}

/**
 * The events that put what a log has lost back behind what is left of it. They are an attempt of their own, because they have other
 * numbers than the lost ones: a cursor that names a lost event then names nothing. The attempt ends at once with a handover, so that
 * whoever goes on does it in the usual way.
 */
export function toRestoration({ held, kept, transcript, worker }: Restoration): EventDraft[] {
  const [first] = held;
  const requested = first as RequestedEvent;
  const lost = held.slice(Math.max(kept, 1));
  const attempt = transcript.attempt + 1;
  return [
    ...(kept === 0 ? [withoutSeq(requested)] : []),
    {
      type: "generation.started",
      attempt,
      worker,
      model: transcript.servedModel ?? requested.request.model,
      reason: "log_lost",
    },
    ...(lost.some((event) => event.type === "output.rewind" && event.to_seq >= kept)
      ? retold(transcript)
      : lost.flatMap(toOutput)),
    { type: "attempt.ended", attempt, reason: "handover" },
  ];
}

/** Where a lost rewind names a place that is lost too: everything is withdrawn, and what counts in the end is told from the beginning. */
function retold({ output }: Transcript): EventDraft[] {
  return [{ type: "output.rewind", to_seq: 0, reason: "log_lost" }, ...output.map(toDraft)];
}

function toDraft(item: OutputItem): EventDraft {
  switch (item.type) {
    case "text":
      return { type: "output.delta", text: item.text, tokens: item.tokens };
    case "tool_call":
      return { type: "tool.call", call_id: item.call_id, name: item.name, arguments: item.arguments };
    case "tool_result":
      return { type: "tool.result", call_id: item.call_id, output: item.output };
  }
}

/** What was produced and answered; who produced it, and when, is not said again. */
function toOutput(event: KnownEvent): EventDraft[] {
  switch (event.type) {
    case "output.delta":
    case "reasoning.delta":
    case "output.rewind":
    case "tool.call":
    case "tool.result":
      return [withoutSeq(event)];
    default:
      return [];
  }
}

function withoutSeq({ seq: _seq, ...draft }: KnownEvent): EventDraft {
  return draft;
}
