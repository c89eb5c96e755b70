import type { RequestTraces } from "../telemetry/request-traces.ts";
import type { ReaderMetrics } from "../telemetry/reader-metrics.ts";
import type { RequestMetrics } from "../telemetry/request-metrics.ts";
import type { RequestNotes } from "../telemetry/request-notes.ts";
import type { Logger } from "@reprise/runtime";
import type { ReaderRegistry } from "../readers/reader-registry.ts";
import type { Authentication } from "../http/auth.ts";
import type { Principal } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";
import type { ArchivedLog } from "../archive-fallback/archived-events.ts";
import { readArchivedPage } from "../archive-fallback/archived-page.ts";
import { Replay, type ReplayStart, unfinished } from "../archive-fallback/replay.ts";
import { ArchiveStream } from "../readers/streams/archive-stream.ts";
import { beginStream, logBrokenStream } from "../readers/begin-stream.ts";

export interface ReplayPorts {
  readonly authentication: Authentication;
  readonly readers: ReaderRegistry;
  readonly logger: Logger;
  readonly notes: RequestNotes;
  readonly requestMetrics: RequestMetrics;
  readonly readerMetrics: ReaderMetrics;
  readonly traces: RequestTraces;
  readonly draining: AbortSignal;
}

export interface ArchivedRead {
  readonly log: ArchivedLog;
  readonly start: ReplayStart;
  readonly principal: Principal;
}

/** Answers with a stream out of the archive, in the bytes of the live one; with 204 when the reader has seen the end already. */
export async function streamReplay(
  context: ReplayPorts,
  reply: FastifyReply,
  { log, start, principal }: ArchivedRead,
): Promise<FastifyReply> {
  const { authentication, readers, logger, traces, notes, requestMetrics, readerMetrics, draining } = context;
  const replay = await Replay.open(log, start);
  if (replay.isExhausted) {
    if (await replay.hasEnded()) {
      readerMetrics.resumed(start.cursor, "ended");
      return reply.code(204).send();
    }
    throw unfinished();
  }
  // From here on to its registration nothing else runs: later changes are told to the registry.
  const reader = authentication.renewReader(principal, "audit");
  const socket = beginStream(reply, { status: 200, draining });
  if (!socket) return reply;
  const { ref } = log;
  const { request } = reply;
  requestMetrics.answered(request, 200);
  readerMetrics.resumed(start.cursor, "fallback");
  const span = traces.spanOf(request);
  notes.add(request, { generation: ref.generation, firstByteMs: requestMetrics.elapsedMs(request) });
  const stream = new ArchiveStream({
    replay,
    socket,
    counts: readers,
    principal: reader,
    role: "audit",
    onClose(reason, error) {
      leave();
      readerMetrics.ended(reason);
      if (!error) return;
      notes.add(request, { code: error.code });
      logBrokenStream(logger, { request: request.id, span, ref, error });
    },
  });
  const leave = readers.enter({ ref, stream });
  void stream.run();
  return reply;
}

/** Answers with a page out of the archive. */
export async function sendArchivedPage(
  { authentication }: ReplayPorts,
  reply: FastifyReply,
  { log, start, principal, limit }: ArchivedRead & { limit: number },
): Promise<FastifyReply> {
  const page = await readArchivedPage(log, { ...start, limit });
  // The archive may have taken seconds.
  authentication.renewReader(principal, "audit");
  return sendPage(reply, page);
}

export function sendPage(reply: FastifyReply, json: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(json);
}
