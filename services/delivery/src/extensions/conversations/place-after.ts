import type { NodeConversations } from "./open-conversations.ts";
import type { GenerationLog, Hub } from "@reprise/stream";
import {
  type GenerationId,
  type GenerationRef,
  parseConversationRequest,
  type RequestedEvent,
  RepriseError,
  unixNow,
} from "@reprise/protocol";
import { conversationRulesOf, type Principal } from "@reprise/tenancy";
import { conversationIdOf, createConversation } from "./create-conversation.ts";
import { readTurn, type TurnSources } from "./read-turn.ts";
import { accessGeneration } from "../../domain/generation-access.ts";
import { SHOWN_MS } from "../../domain/shown-generation.ts";
import { waitForCache } from "../../domain/wait-for-cache.ts";
import type { ResponsePlace } from "../../routes/openai/responses/response-turns.ts";

interface PlaceAfterPorts extends TurnSources {
  readonly log: GenerationLog;
  readonly hub: Hub;
  readonly conversations: NodeConversations;
}

const PARAM = "previous_response_id";
const RETRY_MS = 1_000;

/**
 * Implements `ResponseTurns.placeAfter`. A new conversation has the subject and end user of the earlier response, and counts as one of the tenant's
 * conversations. It is created when the response is admitted.
 */
export async function placeAfter(
  context: PlaceAfterPorts,
  principal: Principal,
  generation: GenerationId,
  idempotencyKey: string | undefined,
): Promise<ResponsePlace> {
  const ref = await accessGeneration(context.log, principal, generation).catch(asPrevious);
  const state = await readTurn(context, ref, false);
  if (state.kind === "missing" || state.kind === "gone") throw notFound();
  const requested = state.turn?.requested;
  const conversation = conversationOf(requested);
  if (conversation) return { predecessor: { conversation, previous_generation: generation } };
  if (state.kind === "running") throw busy();
  if (!state.isArchived && !(await isSettled(context.hub, ref))) throw busy();
  const { subject, end_user } = state.turn.requested.request;
  const request = parseConversationRequest({
    ...(subject !== undefined && { subject }),
    ...(end_user !== undefined && { end_user }),
  });
  const { tenant } = principal;
  // No client's key has a blank.
  const names = [generation, principal.endUser ?? null, idempotencyKey];
  const key = idempotencyKey === undefined ? undefined : `behind ${JSON.stringify(names)}`;
  const id = conversationIdOf(tenant, key);
  const rules = conversationRulesOf(principal.conversations);
  const create = () =>
    createConversation(context.conversations, {
      tenant,
      request,
      rules,
      idempotencyKey: key,
      behind: generation,
      id,
      nowMs: unixNow(),
    });
  return { predecessor: { conversation: id }, begins: { owner: { subject, end_user }, create } };
}

/** Returns true if its reader may have all of it, as `GET` reports: a review of its output may still be pending. */
async function isSettled(hub: PlaceAfterPorts["hub"], ref: GenerationRef): Promise<boolean> {
  const cache = await hub.open(ref);
  if (!cache.ended) await hub.refresh(cache);
  await waitForCache(cache, () => cache.isSettled || cache.failure !== undefined, { waitMs: SHOWN_MS });
  return cache.isSettled;
}

/** A summary is no turn of the conversation that it is for. */
function conversationOf(requested: Pick<RequestedEvent, "context"> | undefined) {
  const place = requested?.context;
  return place?.summarizes === undefined ? place?.conversation : undefined;
}

function asPrevious(error: unknown): never {
  if (error instanceof RepriseError && error.code === "generation_not_found") throw notFound();
  throw error;
}

function notFound(): RepriseError {
  const message = `${PARAM}: there is no response with this id.`;
  return new RepriseError("generation_not_found", message, { param: PARAM });
}

function busy(): RepriseError {
  const message = `${PARAM}: the response has not ended.`;
  return new RepriseError("conversation_busy", message, { param: PARAM, retryAfterMs: RETRY_MS });
}
