import type { GenerationCache } from "@reprise/stream";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../connections/http2.ts";
import { waitForCache } from "../domain/wait-for-cache.ts";
import type { Authentication } from "../http/auth.ts";
import { drainingError } from "../readers/begin-stream.ts";
import { presentReader } from "../readers/presence/present-reader.ts";
import type { ReaderRegistry } from "../readers/reader-registry.ts";
import type { ProjectedCall } from "./projected-call.ts";

export interface WaitingPorts {
  readonly authentication: Pick<Authentication, "renewReader">;
  readonly readers: Pick<ReaderRegistry, "enter">;
  readonly draining: AbortSignal;
}

export interface WaitedFor extends Pick<ProjectedCall, "ref" | "principal" | "role"> {
  /** Tells whether the wait is over; also true when moderation or the cache itself has failed. */
  readonly isDue: () => boolean;
  /** Longest wait in milliseconds. Default: none. */
  readonly waitMs?: number;
}

/**
 * Waits for something in a cache before the answer's head is sent. Meanwhile the caller counts as a reader of the generation.
 * @returns false if the client has left
 * @throws RepriseError `draining`; `unauthenticated`, `forbidden` when the caller may not read any more
 */
export async function waitAsReader(
  context: WaitingPorts,
  reply: Pick<FastifyReply, "raw">,
  cache: GenerationCache,
  { ref, principal, role, isDue, waitMs }: WaitedFor,
): Promise<boolean> {
  const gone = new AbortController();
  if (hasLeft(reply.raw)) gone.abort();
  const onClose = () => gone.abort();
  reply.raw.on("close", onClose);
  const refused = new AbortController();
  const signal = AbortSignal.any([context.draining, gone.signal, refused.signal]);
  // From here on to its registration nothing else runs: later changes are told to the registry.
  const reader = context.authentication.renewReader(principal, role);
  const leave = context.readers.enter({
    ref,
    waiting: { principal: reader, role, fail: (error) => refused.abort(error) },
    // Its answer has everything at once: the model is not held up for it.
    presence: presentReader(cache, {
      get takenSeq() {
        return cache.shownSeq;
      },
    }),
  });
  const isOver = () =>
    isDue() || cache.failure !== undefined || cache.shown.visibility?.isUnavailable === true;
  await waitForCache(cache, isOver, { signal, ...(waitMs !== undefined && { waitMs }) });
  leave();
  reply.raw.off("close", onClose);
  refused.signal.throwIfAborted();
  if (gone.signal.aborted) return false;
  if (context.draining.aborted) throw drainingError();
  return true;
}
