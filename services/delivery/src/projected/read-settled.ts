import type { GenerationCache, Hub } from "@reprise/stream";
import { FIRST_SEQ } from "@reprise/protocol";
import type { FastifyReply } from "fastify";
import { hasLeft } from "../connections/http2.ts";
import { recordFullResponse } from "../readers/delivery-marks/record-full-response.ts";
import { UNJUDGED } from "../readers/streams/live-stream.ts";
import { assertContent } from "./first-content.ts";
import type { ProjectedCall } from "./projected-call.ts";
import type { ProjectedCaches } from "./projected-caches.ts";
import type { Fold } from "./projection-fold.ts";
import type { Settled } from "./shared-fold.ts";
import { waitAsReader, type WaitingPorts } from "./wait-as-reader.ts";

export interface SettledRead<State> extends ProjectedCall {
  readonly fold: Fold<State>;
  /** True to wait for the settled end; false to answer with the events settled so far. */
  readonly wait: boolean;
}

/** The part of a route's context that this takes. */
export interface SettledPorts extends WaitingPorts {
  readonly hub: Pick<Hub, "open" | "refresh">;
  readonly projections: Pick<ProjectedCaches, "foldOf">;
}

/**
 * Folds what is settled of a generation for an answer that is one body: at once, or when the settled end is there. While it waits the caller counts
 * as a reader; with the answer it has read everything that was folded. To be called directly before the answer is sent.
 * @returns undefined where the client has left meanwhile
 * @throws RepriseError `generation_not_found`, `generation_expired`, `generation_erased`; `cursor_expired` when the log has lost its
 *   beginning; `moderation_unavailable` when readers have to wait until moderation is back; `policy_unsupported`, `broker_unavailable`,
 *   `draining`; `unauthenticated`, `forbidden`, also when the caller may not read any more
 */
export async function readSettled<State>(
  context: SettledPorts,
  reply: FastifyReply,
  read: SettledRead<State>,
): Promise<Settled<State> | undefined> {
  const { authentication } = context;
  const { ref, protocol, caller, principal, role } = read;
  const found = await (read.wait ? readEnd(context, reply, read) : readNow(context, read));
  if (!found || hasLeft(reply.raw)) return undefined;
  // It may have waited for long, and a key may expire between two sweeps of the registry.
  authentication.renewReader(principal, role);
  const { cache, settled } = found;
  if (read.awaitsContent) assertContent(reply, cache);
  const { lastSeq } = settled;
  recordFullResponse(context, reply, { ref, protocol, caller, fromSeq: FIRST_SEQ, lastSeq, cache });
  return settled;
}

interface Found<State> {
  readonly cache: GenerationCache;
  readonly settled: Settled<State>;
}

async function readNow<State>(
  { hub, projections }: SettledPorts,
  read: SettledRead<State>,
): Promise<Found<State>> {
  const cache = await hub.open(read.ref, read.begun);
  if (!cache.ended) await hub.refresh(cache);
  return { cache, settled: await projections.foldOf(cache, read.fold).settle() };
}

async function readEnd<State>(
  context: SettledPorts,
  reply: FastifyReply,
  read: SettledRead<State>,
): Promise<Found<State> | undefined> {
  const { hub, projections } = context;
  for (let { begun } = read; ; begun = undefined) {
    const cache = await hub.open(read.ref, begun);
    const isDue = () => cache.isSettled;
    if (!(await waitAsReader(context, reply, cache, { ...read, isDue }))) return undefined;
    if (cache.isSettled) return { cache, settled: await projections.foldOf(cache, read.fold).settle() };
    // The hub has let go of the cache, and the log may be in another one.
    if (cache.failure && !cache.failure.retryable) throw cache.failure;
    if (!cache.failure) throw UNJUDGED;
  }
}
