import type * as conversations from "@reprise/conversations";
import {
  CONVERSATION_LIMITS,
  hasNeverBegun,
  joinWaited,
  type Prompt,
  type TenantId,
  toAskedSegment,
  type TurnContext,
} from "@reprise/protocol";
import { conversationBusy } from "./conversation-busy.ts";
import { readStoredTurn, type TurnSources } from "./read-turn.ts";

/** The running turn, the turns that wait, and the prompt before them. */
export interface TurnQueue extends ReturnType<typeof joinWaited> {
  readonly turns: readonly conversations.LoggedTurn[];
  /** Summary that the prompt gets in place of the turns left out. */
  readonly summary: TurnContext["summary"];
}

/**
 * @param last the last turn of the queue
 * @throws RepriseError `conversation_busy`, `audit_unavailable`, `broker_unavailable`
 */
export async function readTurnQueue(
  sources: TurnSources,
  tenant: TenantId,
  last: conversations.LoggedTurn,
): Promise<TurnQueue> {
  const { waits_for: generations = [], summary } = last.requested.context ?? {};
  const states = await Promise.all(
    generations.map((generation) => readStoredTurn(sources, { tenant, generation }, true)),
  );
  const waited = states.map((state) => {
    if (!("turn" in state) || !state.turn) throw conversationBusy();
    return { turn: state.turn, isOver: state.kind === "ended" };
  });
  const going = waited.findIndex(({ isOver }) => !isOver);
  const over = waited.slice(0, going === -1 ? waited.length : going).map(({ turn }) => turn);
  const rest = [...waited.slice(over.length).map(({ turn }) => turn), last];
  const before = joinWaited(last.requested, over);
  return { ...before, summary, turns: rest.filter((turn) => !hasNeverBegun(turn)) };
}

/**
 * Throws unless a further turn may join the queue.
 * @throws RepriseError `conversation_busy`
 */
export function assertRoomInQueue({ turns }: TurnQueue): void {
  const { waitingTurns: most } = CONVERSATION_LIMITS;
  if (turns.length > most)
    throw conversationBusy(`The conversation has ${most} turns that wait, which is the most.`);
}

/** Returns the known part of the prompt of a turn that follows these: the request of each. */
export function promptOfQueue({ prompt, turns }: Pick<TurnQueue, "prompt" | "turns">): Prompt {
  return [...prompt, ...turns.map(toAskedSegment)];
}
