import type { GenerationId, RepriseError } from "@reprise/protocol";
import type { Logger } from "@reprise/service";
import { EngineError } from "../../engines/engine-error.ts";

/** What the operator is told of an engine, and readers are not: why it has failed, or what of its answer no event has a place for. */
export type EngineReport = {
  readonly generation: GenerationId;
  readonly model: string;
  readonly attempt: number;
} & ({ readonly error: RepriseError } | { readonly leftOut: string });

export function logEngineReport(logger: Logger, report: EngineReport): void {
  if ("leftOut" in report) {
    logger.warn(report, "a part of the engine's answers is left out");
    return;
  }
  const { error, ...about } = report;
  const { code, message: reason, retryAfterMs } = error;
  if (error instanceof EngineError) {
    logger.warn({ ...about, code, reason, said: error.said, retryAfterMs }, "the engine has failed");
  } else if (code === "internal") {
    logger.error({ ...about, code, frames: framesOf(error.cause) }, "the engine's adapter has failed");
  } else {
    logger.info({ ...about, code, reason }, "the engine was not asked");
  }
}

/** Where a defect is. Its message may quote what the adapter was at: the model's text. */
function framesOf(cause: unknown): string[] {
  if (!(cause instanceof Error)) return [];
  return (cause.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
}
