import { RepriseError } from "@reprise/protocol";
import type { CreateGeneration } from "./create-generation.ts";
import type { Step } from "./run-steps.ts";

/** Makes creates turns of their conversations. The extension for conversations implements it; a node without that refuses turns. Creates without a conversation skip these steps. */
export interface Turns {
  /**
   * Gives the request its conversation's owners.
   * @throws RepriseError `conversation_not_found`, `invalid_request` (other owners than the conversation's), `broker_unavailable`
   */
  readonly own: Step;
  /**
   * Finds the turn's place and the prompt before it.
   * @throws RepriseError `conversation_not_found`, `conversation_busy`, `conversation_full`, `generation_not_found`, `generation_expired`, `generation_erased`,
   *   `overloaded`, `invalid_request` for a tool's answer whose call no earlier turn has made, `audit_unavailable`, `broker_unavailable`
   */
  readonly place: Step;
  /**
   * Makes the generation the last turn of its conversation. If another turn was faster, the create finds its place again after that one.
   * @throws RepriseError `conversation_busy`, `conversation_not_found`, `broker_unavailable`
   */
  readonly claim: Step;
  /** Wraps creates, so that turns that have begun lead to generations of the platform's own. */
  wrap(create: CreateGeneration): Creates;
}

/** Disposal waits for what creates have begun and no call waits for. */
export interface Creates extends AsyncDisposable {
  readonly create: CreateGeneration;
}

/** Refuses turns, in the place of `own`. */
export const refuseTurn: Step = {
  name: "refuse turn",
  async run({ sent, created }) {
    if (!created && sent.conversation !== undefined) throw withoutConversations("conversation");
    return undefined;
  },
};

export function withoutConversations(param: string): RepriseError {
  const message = `${param}: this server keeps no conversations.`;
  return new RepriseError("capability_unsupported", message, { param });
}
