import type { ServedBy } from "@reprise/protocol";
import type { Asked, Creating } from "../create/creating.ts";
import { runMsOf } from "../create/prepare.ts";
import type { Step } from "../create/run-steps.ts";
import type { ModelWorkers } from "../models/check-request.ts";
import { contextTokensOf } from "../models/context-tokens.ts";
import { claimTurn, unclaimTurn } from "./claim-turn.ts";
import { conversationBusy } from "./conversation-busy.ts";
import { type PreparedTurn, prepareTurn, type TurnPorts } from "./prepare-turn.ts";
import type { PlannedSummary } from "./summarize.ts";
import { withConversation } from "./with-conversation.ts";

/** Times that a turn may lose its place before its create gives up: each time another turn was claimed first. */
const MOST_LOST_CLAIMS = 64;

export interface TurnStepPorts extends TurnPorts {
  readonly fleet: Pick<ModelWorkers, "contextTokensOf">;
  /** Undefined if this node does not know the model's engine. */
  readonly servedBy: (model: string) => ServedBy | undefined;
}

/** The steps of a create that make it a turn of its conversation. Other creates pass them. */
export interface TurnSteps {
  /**
   * Gives the request its conversation's owners.
   * @throws RepriseError `conversation_not_found`, `invalid_request` (other owners than the conversation's), `broker_unavailable`
   */
  readonly own: Step;
  /**
   * Finds the turn's place and the prompt before it.
   * @throws RepriseError as `prepareTurn`
   */
  readonly place: Step;
  /**
   * Makes the generation the last turn of its conversation. If another turn was faster, the create finds its place again after that one.
   * @throws RepriseError `conversation_busy`, `conversation_not_found`, `broker_unavailable`
   */
  readonly claim: Step;
  /** Returns the summary that a create has planned for later turns. */
  plannedBy(asked: Asked): PlannedSummary | undefined;
}

export function turnSteps(ports: TurnStepPorts): TurnSteps {
  const { conversations } = ports;
  const turns = new WeakMap<Asked, PreparedTurn>();
  const lostClaims = new WeakMap<Asked, number>();

  return {
    own: {
      name: "own",
      async run(creating) {
        const { asked, sent, created } = creating;
        if (!created)
          creating.request = await withConversation(
            conversations,
            asked.principal,
            sent,
            asked.begins?.owner,
          );
        return undefined;
      },
    },
    place: {
      name: "place",
      async run(creating) {
        const turn = await placeTurn(ports, creating);
        if (turn) {
          turns.set(creating.asked, turn);
          creating.given = turn;
        }
        return undefined;
      },
    },
    claim: {
      name: "claim",
      async run({ asked, ref }) {
        const turn = turns.get(asked);
        if (!turn || (await claimTurn(conversations.rows, ref, turn.place))) return undefined;
        const lost = (lostClaims.get(asked) ?? 0) + 1;
        lostClaims.set(asked, lost);
        if (lost === MOST_LOST_CLAIMS) throw conversationBusy();
        return { repeatFrom: "place" };
      },
      // A claim whose generation never comes is passed over by later turns.
      async yield({ asked, ref, request, found }) {
        const turn = turns.get(asked);
        const isTurn = found?.request.conversation === request.conversation;
        if (turn && !isTurn) await unclaimTurn(conversations.rows, ref, turn.place);
      },
    },
    plannedBy: (asked) => turns.get(asked)?.planned,
  };
}

async function placeTurn(
  ports: TurnStepPorts,
  { asked, ref, request, media = {} }: Creating,
): Promise<PreparedTurn | undefined> {
  const { principal, call } = asked;
  if (!call || request.conversation === undefined) return undefined;
  const { input: instructions } = principal.template ?? {};
  const contextTokens = await contextTokensOf(ports, request.model);
  const forMs = runMsOf(request, principal);
  return prepareTurn(ports, { ref, request, instructions, contextTokens, media, forMs, raw: call[0].raw });
}
