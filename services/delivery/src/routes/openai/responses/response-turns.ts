import type { Predecessor } from "@reprise/projections";
import type { GenerationId, GenerationRef } from "@reprise/protocol";
import type { Principal } from "@reprise/tenancy";
import type { NewConversation } from "../../../create/creating.ts";

/** Responses as turns of conversations. The extension for conversations implements it. */
export interface ResponseTurns {
  /**
   * Finds the place of a response that follows another one: in the conversation of that one, or in a new conversation, whose first turn follows it.
   * @param idempotencyKey of the create: sent again it has the same new conversation
   * @throws RepriseError `generation_not_found` (`param` is `previous_response_id`); `conversation_busy` for a response of no conversation that has not ended;
   *   `generation_erased`, `audit_unavailable`, `broker_unavailable`
   */
  placeAfter(
    principal: Principal,
    generation: GenerationId,
    idempotencyKey: string | undefined,
  ): Promise<ResponsePlace>;
  /**
   * Has the audit log erase a response. A response that is erased together with others is not erased alone.
   * @param by whose key it was erased with
   * @throws RepriseError `generation_not_found`; `erasure_refused` for a response that has not ended, that is a turn of a conversation, or whose subject has a
   *   key for all of its generations; `broker_unavailable`
   */
  erase(ref: GenerationRef, by: string): Promise<void>;
}

export interface ResponsePlace {
  readonly predecessor: Predecessor;
  /** The conversation, where it is a new one. */
  readonly begins?: NewConversation;
}
