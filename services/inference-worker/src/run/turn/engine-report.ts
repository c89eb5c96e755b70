import type { GenerationId, RepriseError } from "@reprise/protocol";
import type { DependencyWatch, Logger } from "@reprise/runtime";
import { EngineSilence, SILENT_MS } from "../../engines/engine.ts";
import { EngineError } from "../../engines/engine-error.ts";

/** A report on an engine for the operator, not for readers: the reason of a failure, or a part of the answer that fits no event. */
export type EngineReport = {
  readonly generation: GenerationId;
  readonly model: string;
  readonly attempt: number;
  readonly trace_id?: string;
  readonly span_id?: string;
} & (
  | { readonly error: RepriseError }
  | { readonly leftOut: string }
  /** A field that it refuses: requests are sent without it from now on. */
  | { readonly withoutField: string }
  /** For how long it has said nothing when a timeout of the policy struck. */
  | { readonly silentMs: number }
);

/** @param watch of the model's engine: while it is away, which has a line, its failures are told at level `debug` */
export function logEngineReport(logger: Logger, report: EngineReport, watch: DependencyWatch): void {
  if ("leftOut" in report) {
    logger.warn(report, "a part of the engine's answers is left out");
    return;
  }
  if ("withoutField" in report) {
    logger.warn(report, "the engine refuses a field of requests: it is left out from now on");
    return;
  }
  if ("silentMs" in report) {
    const { silentMs } = report;
    // A policy may have less patience than this, which says nothing of an engine.
    if (silentMs >= SILENT_MS) watch.failed(new EngineSilence(silentMs).message);
    logger[watch.isAway ? "debug" : "info"](
      report,
      "the engine was silent for longer than the policy allows",
    );
    return;
  }
  const { error, ...about } = report;
  const { code, message: reason, retryAfterMs } = error;
  if (error instanceof EngineError) {
    if (takesNoRequests(error)) watch.failed(reason);
    const level = watch.isAway ? "debug" : "warn";
    logger[level]({ ...about, code, reason, said: error.said, retryAfterMs }, "the engine has failed");
  } else if (code === "internal") {
    logger.error({ ...about, code, frames: framesOf(error.cause) }, "the engine's adapter has failed");
  } else {
    logger.info({ ...about, code, reason }, "the engine was not asked");
  }
}

/** Other failures may be the request's doing, or the model's. */
function takesNoRequests({ code, retry }: EngineError): boolean {
  return code === "engine_unavailable" || retry === "broken" || retry === "silent";
}

/** Where a defect is. Its message may quote what the adapter was at: the model's text. */
function framesOf(cause: unknown): string[] {
  if (!(cause instanceof Error)) return [];
  return (cause.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
}
