import type { GenerationCache, Hub } from "@reprise/stream";
import { plus, type ReaderProtocol, REQUEST_SEQ, type Seq } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";
import type { Logger } from "@reprise/runtime";
import type { Authentication, ReadingRole } from "../http/auth.ts";
import type { ReaderMetrics, StreamCall } from "../telemetry/reader-metrics.ts";
import type { RequestMetrics } from "../telemetry/request-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { RequestTraces } from "../telemetry/request-traces.ts";
import type { ReaderRegistry } from "./reader-registry.ts";
import type { ReaderTraces } from "./reader-traces.ts";
import type { Caller } from "./delivery-marks/caller.ts";
import { ConnectionRecord } from "./delivery-marks/connection-record.ts";
import { presentReader } from "./presence/present-reader.ts";
import type { ReaderCounts } from "./reader.ts";
import type { CachedStream, CachedStreamOptions } from "./streams/cached-stream.ts";
import { beginStream, logBrokenStream } from "./begin-stream.ts";

/** A stream that a caller is about to be sent. */
export interface NewReading {
  readonly cache: GenerationCache;
  /** The first event that it is sent. */
  readonly fromSeq: Seq;
  /** True if the reader has already been sent the earlier events. */
  readonly resumed: boolean;
  readonly status: number;
  readonly protocol: ReaderProtocol;
  readonly caller: Caller;
  readonly principal: Principal;
  readonly role: ReadingRole;
  readonly call: StreamCall;
  /** True if the call has created the generation. */
  readonly created: boolean;
  readonly open: (options: CachedStreamOptions) => CachedStream;
}

/** The part of a route's context that a stream takes. */
export interface ReadingPorts {
  readonly hub: Pick<Hub, "readHistory">;
  readonly authentication: Pick<Authentication, "renewReader">;
  readonly readers: Pick<ReaderRegistry, "enter"> & ReaderCounts;
  readonly logger: Logger;
  readonly notes: RequestNotes;
  readonly requestMetrics: RequestMetrics;
  readonly readerMetrics: ReaderMetrics;
  readonly traces: RequestTraces;
  readonly readerTraces: ReaderTraces;
  /** Aborted when the node begins to drain. */
  readonly draining: AbortSignal;
}

/**
 * Begins a stream of the hub's memory and registers its reader. From here on nothing but the stream itself can say what goes wrong.
 * @throws RepriseError `unauthenticated`, `forbidden`, `draining`, while it can still be an answer
 */
export function beginReading(
  context: ReadingPorts,
  reply: FastifyReply,
  { cache, fromSeq, resumed, status, protocol, caller, principal, role, call, created, open }: NewReading,
): FastifyReply {
  const { hub, readers, logger, notes, traces, readerTraces, requestMetrics, readerMetrics } = context;
  // From here on to its registration nothing else runs: later changes are told to the registry.
  const reader = context.authentication.renewReader(principal, role);
  const { request } = reply;
  const socket = beginStream(reply, { status, draining: context.draining });
  if (!socket) return reply;
  requestMetrics.answered(request, status);
  readerMetrics.resumed({ seq: resumed ? fromSeq : REQUEST_SEQ }, "resumed");
  const span = traces.spanOf(request);
  const reading = readerTraces.begin(cache, { request: span, fromSeq, resumed });
  const arrivedAtMs = requestMetrics.arrivedAtMs(request);
  const stream = open({
    hub,
    cache,
    socket,
    nextSeq: fromSeq,
    counts: readers,
    principal: reader,
    role,
    onDelivered: readerMetrics.deliveredOf(cache.policy?.moderation?.mode),
    awaitsOutput:
      fromSeq <= cache.figures.firstOutputSeq && (created || isBeforeOutput(cache.figures, arrivedAtMs)),
    onFirstOutput: () => readerMetrics.firstEvent(call, requestMetrics.elapsedMs(request)),
    onClose(reason, error) {
      leave();
      readerMetrics.ended(reason);
      reading.end(stream, error);
      if (!error) return;
      notes.add(request, { code: error.code });
      logBrokenStream(logger, { request: request.id, span, ref: cache.ref, error });
    },
  });
  const leave = readers.enter({
    ref: cache.ref,
    stream,
    presence: presentReader(cache, stream.present),
    record: new ConnectionRecord({
      protocol,
      caller,
      fromSeq,
      position: stream,
      cache,
      stalls: requestMetrics.stalls,
    }),
  });
  notes.add(request, {
    resumed,
    firstByteMs: requestMetrics.elapsedMs(request),
    events: () => plus(stream.takenSeq, 1) - fromSeq,
  });
  stream.start();
  return reply;
}

/** Tells whether a reader that arrived then had to wait for the first output. */
function isBeforeOutput(
  { hasOutput, firstOutput }: GenerationCache["figures"],
  arrivedAtMs: number,
): boolean {
  return !hasOutput || (firstOutput !== undefined && firstOutput.receivedAtMs >= arrivedAtMs);
}
