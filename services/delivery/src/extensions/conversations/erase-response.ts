import type { NodeConversations } from "./open-conversations.ts";
import { hash } from "node:crypto";
import {
  conversationSubject,
  generationNotFound,
  type GenerationRef,
  RepriseError,
  STREAM_START,
  toConversationId,
  unixNow,
} from "@reprise/protocol";
import { readStoredTurn, type TurnSources } from "./read-turn.ts";

interface EraseResponsePorts extends TurnSources {
  readonly conversations: NodeConversations;
}

/**
 * Implements `ResponseTurns.erase`. The audit log reads which conversations were deleted, so the response is recorded there as the last turn of a conversation
 * that never existed.
 */
export async function eraseResponse(
  context: EraseResponsePorts,
  ref: GenerationRef,
  by: string,
): Promise<void> {
  const { tenant, generation } = ref;
  const state = await readStoredTurn(context, ref, false);
  if (state.kind === "missing" || state.kind === "gone") throw generationNotFound();
  if (state.kind === "running") throw refused("It has not ended: cancel it first.");
  const { context: place, request } = state.turn.requested;
  if (place) throw refused(`It is a turn of ${place.conversation}: delete that.`);
  if (request.subject !== undefined) {
    throw refused("It is of a subject (safety_identifier), whose generations are erased together.");
  }
  const id = toConversationId(hash("sha256", `${tenant}\nerased response\n${generation}`, "buffer"));
  const deleted_at = new Date(unixNow()).toISOString();
  const row = { version: 1, kind: "deleted", id, by, deleted_at, head: generation } as const;
  // Another call has written it where that is undefined.
  await context.conversations.rows.write(conversationSubject(tenant, id), row, STREAM_START);
}

function refused(message: string): RepriseError {
  return new RepriseError("erasure_refused", message, { param: "id" });
}
