import type { GenerationLog } from "@reprise/stream";
import { hash } from "node:crypto";
import { RUN_ID_METADATA } from "@reprise/projections";
import { generationNotFound, RepriseError } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { keyedGeneration } from "../../create/creating.ts";
import { accessGeneration } from "../../domain/generation-access.ts";
import { readGeneration } from "../../domain/read-generation.ts";
import type { ReadSources } from "../../domain/shown-generation.ts";
import { toRequested } from "../../domain/to-requested.ts";
import { unlessGone } from "../../domain/unless-gone.ts";
import { type BegunRun, findThreadRun, type ThreadPorts } from "../../threads/thread-runs.ts";

export interface RunPorts extends ReadSources, ThreadPorts {
  readonly log: GenerationLog;
  readonly shards: number;
}

/** Each has runs and threads of its own. */
export type AgentProtocol = "tanstack" | "ag-ui";

/** A generation by the name that its client gave the run. */
export type Run = BegunRun;

/** Returns the idempotency key of a run: the client's name of it, in the characters that a key may have. */
export function runKey(protocol: AgentProtocol, runId: string): string {
  return `${protocol}-${hash("sha256", runId, "hex")}`;
}

/**
 * The run of a name. An end user's token finds that user's runs alone, and a key of the tenant those that keys have begun.
 * @returns undefined where there is none that the caller may know of
 * @throws RepriseError `generation_expired`, `generation_erased`, `cursor_expired`, `broker_unavailable`
 */
export async function findRun(
  context: RunPorts,
  principal: Principal,
  { protocol, runId }: { readonly protocol: AgentProtocol; readonly runId: string },
): Promise<Run | undefined> {
  const { tenant, endUser: owner } = principal;
  const key = runKey(protocol, runId);
  const generation = keyedGeneration(tenant, { key, owner, shards: context.shards });
  // Before it is read: an answer may not tell one that is out of reach from one that is not there.
  const ref = await accessGeneration(context.log, principal, generation).catch(unlessGone);
  const first = ref && (await context.log.reader.readFirst(ref));
  return first && { ref, requested: toRequested(first.payload) };
}

/**
 * Returns the client's name of a thread's run that is in progress, or whose readers have yet to get its end; undefined if there is none.
 * @throws RepriseError `broker_unavailable`
 */
export async function activeRunId(
  context: RunPorts,
  principal: Principal,
  thread: { readonly protocol: AgentProtocol; readonly id: string },
): Promise<string | undefined> {
  const ref = await findThreadRun(context, principal, thread).catch(unlessGone);
  const generation = ref && (await readGeneration(context, ref).catch(unlessGone));
  return generation && !generation.settled ? generation.metadata[RUN_ID_METADATA] : undefined;
}

/** @throws RepriseError `generation_not_found` */
export function needsRun(run: Run | undefined, param: string): Run {
  if (run) return run;
  const { code } = generationNotFound();
  throw new RepriseError(code, `${param}: there is no run of this name.`, { param });
}
