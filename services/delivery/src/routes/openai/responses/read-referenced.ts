import type { ProjectedCaches } from "../../../projected/projected-caches.ts";
import type { GenerationLog, Hub } from "@reprise/stream";
import { generationOfItem, itemsIn, responsesAnswer } from "@reprise/projections";
import {
  type ErrorCode,
  type GenerationId,
  type GenerationRef,
  LIMITS,
  RepriseError,
} from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import { accessGeneration } from "../../../domain/generation-access.ts";
import { SHOWN_MS } from "../../../domain/shown-generation.ts";
import { waitForCache } from "../../../domain/wait-for-cache.ts";

export interface ReferencePorts {
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly projections: ProjectedCaches;
}

/** There is no such log, or what is left of it is in the archive alone. */
const NOT_KEPT: ReadonlySet<ErrorCode> = new Set([
  "generation_not_found",
  "generation_expired",
  "cursor_expired",
]);

/**
 * The items of responses that a request names by their ids, as readers may have them. What is not there, or out of the caller's reach, has no item here.
 * @throws RepriseError `invalid_request` for items of more than 128 responses (`mediaReferences`); `conversation_busy` for one that has not ended;
 *   `generation_erased`, `broker_unavailable`
 */
export async function readReferenced(
  context: ReferencePorts,
  principal: Principal,
  ids: readonly string[],
): Promise<ReadonlyMap<string, unknown>> {
  const wanted = new Set(ids);
  const generations = new Set(ids.flatMap((id) => generationOfItem(id) ?? []));
  if (generations.size > LIMITS.mediaReferences) throw tooMany();
  const items = new Map<string, unknown>();
  for (const generation of generations) {
    const ref = await findGeneration(context, principal, generation);
    if (!ref) continue;
    const found = (await readItems(context, ref).catch(unlessKept)) ?? [];
    for (const item of found) if (wanted.has(item.id)) items.set(item.id, item);
  }
  return items;
}

async function findGeneration(
  { log }: ReferencePorts,
  principal: Principal,
  generation: GenerationId,
): Promise<GenerationRef | undefined> {
  try {
    return await accessGeneration(log, principal, generation);
  } catch (error) {
    if (error instanceof RepriseError && error.code === "generation_not_found") return undefined;
    throw error;
  }
}

async function readItems(
  { hub, projections }: ReferencePorts,
  ref: GenerationRef,
): Promise<ReturnType<typeof itemsIn>> {
  const cache = await hub.open(ref);
  // A replica may lag the end that the caller has seen.
  if (!cache.ended) await hub.refreshFromLeader(cache);
  if (!cache.ended) throw busy();
  await waitForCache(cache, () => cache.isSettled || cache.failure !== undefined, { waitMs: SHOWN_MS });
  const { state, isOver } = await projections.foldOf(cache, responsesAnswer).settle();
  if (!isOver) throw busy();
  return itemsIn(state);
}

function unlessKept(error: unknown): undefined {
  if (error instanceof RepriseError && NOT_KEPT.has(error.code)) return undefined;
  throw error;
}

function tooMany(): RepriseError {
  const message = `input: names items of at most ${LIMITS.mediaReferences} responses`;
  return new RepriseError("invalid_request", message, { param: "input" });
}

function busy(): RepriseError {
  return new RepriseError("conversation_busy", "input: names an item of a response that has not ended.", {
    param: "input",
    retryAfterMs: 1_000,
  });
}
