import type { Threads } from "./threads.ts";
import type { GenerationLog } from "@reprise/stream";
import { type GenerationRef, isGenerationId, type RequestedEvent, toUnixMs } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { accessGeneration } from "../domain/generation-access.ts";
import { unlessGone } from "../domain/unless-gone.ts";

export interface ThreadPorts {
  readonly log: GenerationLog;
  readonly threads: Threads;
}

/** A thread as a call names it. */
export interface CalledThread {
  /** Protocol of the thread: names of two protocols never collide. */
  readonly protocol: string;
  /** The client's name of it, or the id of one of its generations. */
  readonly id: string;
}

/** A generation that was begun for a thread. */
export interface BegunRun {
  readonly ref: GenerationRef;
  readonly requested: RequestedEvent;
}

/**
 * The newest run of a thread, or a generation by its own id. An end user's token finds that user's threads alone, and a key of the tenant those
 * that keys have begun.
 * @returns undefined for a thread without a run that the caller may know of
 * @throws RepriseError `generation_not_found` for a generation; `broker_unavailable`
 */
export async function findThreadRun(
  { log, threads }: Pick<ThreadPorts, "log" | "threads">,
  principal: Principal,
  { protocol, id }: CalledThread,
): Promise<GenerationRef | undefined> {
  if (isGenerationId(id)) return accessGeneration(log, principal, id);
  const { tenant, endUser } = principal;
  const generation = await threads.current({ tenant, protocol, endUser, id });
  return generation && accessGeneration(log, principal, generation).catch(unlessGone);
}

/**
 * Says that a run is the newest of its thread. The tenant's keys find what they have begun for an end user without naming that one.
 * @throws RepriseError `broker_unavailable`
 */
export async function beginThreadRun(
  { threads }: Pick<ThreadPorts, "threads">,
  { tenant, endUser }: Principal,
  { protocol, id, ref, requested }: CalledThread & BegunRun,
): Promise<void> {
  const run = { generation: ref.generation, requestedAtMs: toUnixMs(requested.created_at) };
  const owners = new Set([endUser, requested.request.end_user]);
  await Promise.all([...owners].map((owner) => threads.begin({ tenant, protocol, endUser: owner, id }, run)));
}
