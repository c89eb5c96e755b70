import type { Appender } from "@reprise/log";
import { type RequestedEvent, toRepriseError, type Usage, type WorkerId } from "@reprise/protocol";
import type { Plan } from "./domain/plan-attempt.ts";
import { totalUsage } from "./domain/usage.ts";
import type { Engine, EngineEvent } from "./engines/engine.ts";

export interface EngineRun {
  appender: Appender;
  engine: Engine;
  plan: Extract<Plan, { kind: "run" }>;
  requested: RequestedEvent;
  worker: WorkerId;
  /** What earlier attempts have used. */
  usageBefore: Usage;
  signal: AbortSignal;
}

/** An engine that is this many characters ahead of the log has to wait. */
const MAX_BACKLOG = 256 * 1_024;

/** Turns an engine's events into the log's. Returns how it ended the generation; undefined when the signal stopped it first. */
export async function runEngine(run: EngineRun): Promise<"completed" | "failed" | undefined> {
  const { appender, engine, plan, requested, worker, usageBefore, signal } = run;
  const { request } = requested;
  const inputTokens = engine.countInput?.(request);
  appender.append({
    type: "generation.started",
    attempt: plan.attempt,
    worker,
    model: request.model,
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
  });
  if (plan.rewind) appender.append({ type: "output.rewind", to_seq: 0, reason: "worker_lost" });
  // The engine is asked only once the attempt is in the log: until then it may be somebody else's, or over.
  if ((await appender.settled()).kind !== "open" || signal.aborted) return undefined;

  const before = { ...usageBefore, input_tokens: usageBefore.input_tokens ?? inputTokens ?? null };
  let counted = 0;
  let last: Extract<EngineEvent, { type: "finish" }> | undefined;
  try {
    for await (const event of engine.generate(request, { prefix: plan.prefix, signal })) {
      if (event.type === "finish") {
        last = event;
        break;
      }
      const { text, tokens = 1 } = event;
      counted += tokens;
      const type = event.type === "reasoning" ? "reasoning.delta" : "output.delta";
      appender.append(tokens === 1 ? { type, text } : { type, text, tokens });
      if (appender.backlog > MAX_BACKLOG) await appender.settled();
    }
    signal.throwIfAborted();
  } catch (thrown) {
    if (signal.aborted) return undefined;
    const { code, message, retryable } = toRepriseError(thrown);
    appender.append({
      type: "generation.failed",
      error: { code, message, retryable },
      usage: totalUsage(before, counted, undefined),
    });
    return "failed";
  }
  appender.append({
    type: "generation.completed",
    finish_reason: last?.reason ?? "stop",
    usage: totalUsage(before, counted, last?.usage),
  });
  return "completed";
}
