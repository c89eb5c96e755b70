import type { Logger, Metrics } from "@reprise/runtime";
import type { Tracing } from "@reprise/runtime/telemetry";
import type { Authentication } from "../http/auth.ts";
import { type AccessLog, type AccessLogMode, createAccessLog } from "./access-log.ts";
import { ReaderMetrics } from "./reader-metrics.ts";
import { RequestMetrics } from "./request-metrics.ts";
import { RequestNotes } from "./request-notes.ts";
import { RequestTraces } from "./request-traces.ts";
import { Stalls } from "./stalls.ts";

export interface TelemetryOptions {
  readonly authentication: Authentication;
  readonly accessLog: AccessLogMode;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
}

/** Measures, traces and logs requests and their readers. */
export interface RequestTelemetry extends Disposable {
  readonly notes: RequestNotes;
  readonly requestMetrics: RequestMetrics;
  readonly readerMetrics: ReaderMetrics;
  readonly traces: RequestTraces;
  /** Undefined: no line is logged for each request. */
  readonly logRequest: AccessLog | undefined;
}

/** Watches the event loop for stalls until it is disposed of. */
export function openTelemetry(options: TelemetryOptions): RequestTelemetry {
  const { authentication, accessLog, logger, metrics, tracing } = options;
  const stalls = new Stalls();
  const notes = new RequestNotes();
  const requestMetrics = new RequestMetrics(metrics, stalls);
  const traces = new RequestTraces({ tracing, authentication, notes, metrics: requestMetrics });
  const withAddress = accessLog === "with-address";
  return {
    notes,
    requestMetrics,
    readerMetrics: new ReaderMetrics(metrics),
    traces,
    logRequest:
      accessLog === "off"
        ? undefined
        : createAccessLog({ logger, authentication, notes, traces, withAddress }),
    [Symbol.dispose]: () => stalls[Symbol.dispose](),
  };
}
