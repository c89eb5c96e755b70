import type { LogSnapshot } from "@reprise/stream";
import {
  decodeEvent,
  type EffectiveModeration,
  type GenerationRef,
  peekSeq,
  REQUEST_SEQ,
} from "@reprise/protocol";
import {
  LOG_SPAN,
  MESSAGING,
  parseTraceparent,
  REPRISE,
  type Tracing,
  type TraceSpan,
} from "@reprise/runtime/telemetry";

/** Begins the span of a process that judges a generation, in the trace of the request that created that: its decisions are events of it. */
export function startModerationSpan(
  tracing: Tracing,
  ref: GenerationRef,
  { mode }: Pick<EffectiveModeration, "mode">,
  snapshot: LogSnapshot,
): TraceSpan {
  return tracing.start("moderate", {
    kind: "consumer",
    parent: tracing.isOn ? parseTraceparent(traceparentOf(snapshot) ?? "") : undefined,
    attributes: {
      ...LOG_SPAN,
      [MESSAGING.operation]: "process",
      [MESSAGING.operationType]: "process",
      [REPRISE.tenant]: ref.tenant,
      [REPRISE.generation]: ref.generation,
      [REPRISE.moderation]: mode,
    },
  });
}

function traceparentOf({ events: [first] }: LogSnapshot): string | undefined {
  if (!first || peekSeq(first) !== REQUEST_SEQ) return undefined;
  const event = decodeEvent(first);
  return event.type === "generation.requested" ? event.traceparent : undefined;
}
