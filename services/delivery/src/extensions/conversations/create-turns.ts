import type { ServedBy } from "@reprise/protocol";
import type { Logger } from "@reprise/runtime";
import type { Asked, Creating } from "../../create/creating.ts";
import { runMsOf } from "../../create/prepare.ts";
import type { Turns } from "../../create/turns.ts";
import type { ModelWorkers } from "../../models/check-request.ts";
import { contextTokensOf } from "../../models/context-tokens.ts";
import { claimTurn, unclaimTurn } from "./claim-turn.ts";
import { conversationBusy } from "./conversation-busy.ts";
import { withSummaries } from "./make-summaries.ts";
import { type PreparedTurn, prepareTurn, type TurnPorts } from "./prepare-turn.ts";
import { withConversation } from "./with-conversation.ts";

/** Times that a turn may lose its place before its create gives up: each time another turn was claimed first. */
const MOST_LOST_CLAIMS = 64;

interface TurnStepPorts extends TurnPorts {
  readonly logger: Logger;
  readonly fleet: Pick<ModelWorkers, "contextTokensOf">;
  /** Undefined if this node does not know the model's engine. */
  readonly servedBy: (model: string) => ServedBy | undefined;
}

export function createTurns(ports: TurnStepPorts): Turns {
  const { conversations, logger } = ports;
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
    wrap: (create) =>
      withSummaries(create, {
        plannedBy: (asked) => turns.get(asked)?.planned,
        rows: conversations.rows,
        logger,
      }),
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
