import {
  type EffectiveTimeouts,
  type EventDraft,
  type FinishReason,
  type GenerationRequest,
  type RepriseError,
  toRepriseError,
  type Usage,
} from "@reprise/protocol";
import type { Turn } from "./domain/plan-attempt.ts";
import type { Engine, EngineEvent, ToolCallEvent } from "./engines/engine.ts";
import { type TurnTimeout, watchTurn } from "./turn-watch.ts";

/** What a run of an engine writes to. */
export interface EngineSink {
  append(draft: EventDraft): void;
  /** Undefined while the engine may go on; else resolves when it may, or the signal is aborted. */
  hold(signal: AbortSignal): Promise<unknown> | undefined;
}

export interface EngineRun {
  engine: Engine;
  request: GenerationRequest;
  turn: Turn;
  timeouts: EffectiveTimeouts;
  /** When the generation as a whole has to be over, in wall-clock milliseconds. */
  totalAtMs: number;
  sink: EngineSink;
  /** Aborted when somebody else has the say, or the worker is to stop. */
  signal: AbortSignal;
  onLeftOut?: (part: string) => void;
}

/** How a run of an engine ended; `counted` is how many tokens it has said, by our count of its chunks. */
export type EngineOutcome = { readonly counted: number } & (
  | {
      readonly kind: "finished";
      readonly reason: FinishReason;
      readonly usage: Usage | undefined;
      readonly calls: readonly ToolCallEvent[];
    }
  | { readonly kind: "failed"; readonly error: RepriseError }
  | { readonly kind: "timeout"; readonly name: TurnTimeout }
  /** The signal stopped it. */
  | { readonly kind: "stopped" }
);

/** Runs an engine for one turn: its text goes to the sink as it comes, its tool calls and its end are the outcome. */
export async function runEngine(run: EngineRun): Promise<EngineOutcome> {
  const { engine, request, turn, timeouts, totalAtMs, sink, signal, onLeftOut } = run;
  const late = new AbortController();
  let timeout: TurnTimeout | undefined;
  using watch = watchTurn({
    timeouts,
    totalAtMs,
    onTimeout(name) {
      timeout = name;
      late.abort();
    },
  });
  const calls: ToolCallEvent[] = [];
  let counted = 0;
  let last: Extract<EngineEvent, { type: "finish" }> | undefined;
  const stop = AbortSignal.any([signal, late.signal]);
  try {
    watch.waiting();
    const options = {
      ...turn,
      signal: stop,
      onPiece: () => watch.progressed(),
      onFinished: () => watch.finished(),
      ...(onLeftOut && { onLeftOut }),
    };
    for await (const event of engine.generate(request, options)) {
      watch.arrived();
      if (event.type === "finish") {
        last = event;
        break;
      }
      if (event.type === "tool_call") calls.push(event);
      else counted += say(sink, event);
      const held = sink.hold(stop);
      if (held) await held;
      stop.throwIfAborted();
      watch.waiting();
    }
    stop.throwIfAborted();
  } catch (thrown) {
    if (signal.aborted) return { kind: "stopped", counted };
    if (timeout) return { kind: "timeout", name: timeout, counted };
    return { kind: "failed", error: toRepriseError(thrown), counted };
  }
  return { kind: "finished", reason: last?.reason ?? "stop", usage: last?.usage, calls, counted };
}

function say(sink: EngineSink, event: Extract<EngineEvent, { type: "text" | "reasoning" }>): number {
  const { text, tokens = 1 } = event;
  const type = event.type === "reasoning" ? "reasoning.delta" : "output.delta";
  sink.append(tokens === 1 ? { type, text } : { type, text, tokens });
  return tokens;
}
