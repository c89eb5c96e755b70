import { claimTurn, unclaimTurn } from "../conversations/claim-turn.ts";
import { conversationBusy } from "../conversations/conversation-busy.ts";
import type { NodeConversations } from "../conversations/open-conversations.ts";
import type { Step } from "./run-steps.ts";

/** How often a turn loses its place before its create gives up: each time another turn has come before it. */
const MOST_LOST_CLAIMS = 64;

/**
 * Makes the generation the last turn of its conversation. If another turn was faster, the create finds its place again after that one.
 * @throws RepriseError `conversation_busy`, `conversation_not_found`, `broker_unavailable`
 */
export function claim({ conversations }: { readonly conversations: Pick<NodeConversations, "rows"> }): Step {
  return {
    name: "claim",
    async run(creating) {
      const { ref, turn } = creating;
      if (!turn || (await claimTurn(conversations.rows, ref, turn.place))) return undefined;
      if (++creating.lostClaims === MOST_LOST_CLAIMS) throw conversationBusy();
      return { repeatFrom: "place" };
    },
    async undo({ ref, turn }) {
      if (turn) await unclaimTurn(conversations.rows, ref, turn.place);
    },
  };
}
