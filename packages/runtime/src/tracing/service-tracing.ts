import { openTracing, type Tracing } from "../telemetry/index.ts";
import type { Environment } from "../environment/environment.ts";

/** The variables of every service that makes spans. OpenTelemetry's SDK reads more of its own. */
export const TRACING_NAMES = ["OTEL_EXPORTER_OTLP_ENDPOINT", "REPRISE_TRACE_CONTENT"] as const;

interface LineLog {
  warn(fields: object, line: string): void;
}

/**
 * Opens the tracing of a process. It is disposed of last: what is sent then is what the process did at its end.
 * @param name of the service; its spans have it after `reprise-`
 */
export function openServiceTracing(
  name: string,
  env: Environment<(typeof TRACING_NAMES)[number]>,
  logger: LineLog,
): Promise<Tracing> {
  return openTracing({
    isOn: env.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
    service: `reprise-${name}`,
    recordsContent: env.REPRISE_TRACE_CONTENT === "on",
    onProblem: (problem) => logger.warn({ problem }, "tracing has failed"),
  });
}
