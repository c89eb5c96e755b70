import { GEN_AI, GEN_AI_OPERATION, REPRISE, SERVER, type TraceSpan } from "@reprise/runtime/telemetry";
import type { AnswerNames, Engine, Server } from "../../engines/engine.ts";
import type { TurnTiming } from "../metrics/turn-timing.ts";
import type { Run } from "../open-run.ts";
import type { RunRequest } from "../run-request.ts";
import { providerOf } from "../metrics/worker-metrics.ts";
import type { EngineOutcome } from "../../domain/after-turn.ts";

interface TurnSpanOptions {
  readonly engine: Engine;
  /** The public name of the model whose engine is asked. */
  readonly model: string;
  readonly attempt: number;
}

/** The span of one turn of an engine. */
export function startTurnSpan(run: Run, { engine, model, attempt }: TurnSpanOptions): TraceSpan {
  return run.context.tracing.start(`${GEN_AI_OPERATION.chat} ${model}`, {
    kind: "client",
    parent: run.span.context,
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATION.chat,
      [GEN_AI.provider]: providerOf(engine.name),
      [GEN_AI.requestModel]: model,
      [GEN_AI.stream]: true,
      [SERVER.address]: engine.address?.host,
      [SERVER.port]: engine.address?.port,
      [REPRISE.generation]: run.job.ref.generation,
      [REPRISE.attempt]: attempt,
    },
  });
}

/** Adds the server that is asked, one of several. */
export function describeServer(span: TraceSpan, { host, port }: Server): void {
  span.set({ [SERVER.address]: host, [SERVER.port]: port });
}

/** A function of its own: the frame of one that waits for the engine would keep the request. */
export function describeRequest(span: TraceSpan, request: Pick<RunRequest, "get">): void {
  span.set({ [GEN_AI.maxTokens]: request.get().max_output_tokens });
}

export function describeAnswer(span: TraceSpan, { id, model }: AnswerNames): void {
  span.set({ [GEN_AI.responseId]: id, [GEN_AI.responseModel]: model });
}

/** Ends the span with the engine's counts and the turn's result: a turn that the run has stopped has not failed. */
export function endTurnSpan(
  span: TraceSpan,
  outcome: EngineOutcome,
  { longestWaitMs }: Pick<TurnTiming, "longestWaitMs">,
): void {
  span.set({
    [GEN_AI.outputTokens]: outcome.counted,
    [REPRISE.result]: outcome.kind,
    [REPRISE.longestWaitMs]: Math.round(longestWaitMs),
  });
  switch (outcome.kind) {
    case "finished":
      span.set({
        [GEN_AI.finishReasons]: [outcome.reason],
        [GEN_AI.inputTokens]: outcome.usage?.input_tokens ?? undefined,
        [GEN_AI.cachedInputTokens]: outcome.usage?.cached_input_tokens,
        [GEN_AI.reasoningTokens]: outcome.usage?.reasoning_tokens,
        ...(outcome.usage && { [GEN_AI.outputTokens]: outcome.usage.output_tokens }),
      });
      break;
    case "failed":
    case "spent":
    case "unprepared":
      span.fail(outcome.error.code);
      break;
    case "timeout":
      span.fail(`${outcome.name}_timeout`);
      break;
    case "halted":
    case "stopped":
      break;
  }
  span.end();
}

/** The span of a wait for the answers of tools. Their names and arguments are the model's words and not in it. */
export function startToolSpan(run: Run): TraceSpan {
  return run.context.tracing.start(GEN_AI_OPERATION.tool, {
    parent: run.span.context,
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATION.tool,
      [REPRISE.generation]: run.job.ref.generation,
    },
  });
}
