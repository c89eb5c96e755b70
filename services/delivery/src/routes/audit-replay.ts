import type { Principal } from "@reprise/tenancy";
import type { FastifyReply } from "fastify";
import type { ArchivedLog } from "../archive-fallback/archived-events.ts";
import { readArchivedPage } from "../archive-fallback/archived-page.ts";
import { Replay, type ReplayStart, unfinished } from "../archive-fallback/replay.ts";
import { ArchiveStream } from "../readers/streams/archive-stream.ts";
import { beginStream } from "./begin-stream.ts";
import type { RouteContext } from "./context.ts";

export interface ArchivedRead {
  readonly log: ArchivedLog;
  readonly start: ReplayStart;
}

/** Answers with a stream out of the archive, in the bytes of the live one; with 204 when the reader has seen the end already. */
export async function streamReplay(
  { authentication, readers, logger, draining }: RouteContext,
  reply: FastifyReply,
  { log, start, principal }: ArchivedRead & { principal: Principal },
): Promise<FastifyReply> {
  const replay = await Replay.open(log, start);
  if (replay.isExhausted) {
    if (await replay.hasEnded()) return reply.code(204).send();
    throw unfinished();
  }
  const reader = authentication.renewReader(principal);
  const socket = beginStream(reply, { status: 200, draining });
  if (!socket) return reply;
  const { ref } = log;
  const { id: request } = reply.request;
  const stream = new ArchiveStream({
    replay,
    socket,
    counts: readers,
    principal: reader,
    onClose(error) {
      leave();
      if (!error) return;
      const { generation } = ref;
      logger.warn({ request, generation, code: error.code, err: error.cause }, "a replay was broken off");
    },
  });
  const leave = readers.enter({ ref, stream });
  void stream.run();
  return reply;
}

/** Answers with a page out of the archive. */
export async function sendArchivedPage(
  reply: FastifyReply,
  { log, start }: ArchivedRead,
  limit: number,
): Promise<FastifyReply> {
  return sendPage(reply, await readArchivedPage(log, { ...start, limit }));
}

export function sendPage(reply: FastifyReply, json: string): FastifyReply {
  return reply.type("application/json; charset=utf-8").send(json);
}
