import type { conversations } from "@reprise/log";
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

/** The turns that go on, the running one first, and what came before them. */
export interface TurnQueue extends ReturnType<typeof joinWaited> {
  readonly turns: readonly conversations.LoggedTurn[];
  /** What the prompt is still to have in the place of turns that are left out. */
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
 * Whether a further turn may come behind them.
 * @throws RepriseError `conversation_busy`
 */
export function assertRoomInQueue({ turns }: TurnQueue): void {
  const { waitingTurns: most } = CONVERSATION_LIMITS;
  if (turns.length > most)
    throw conversationBusy(`The conversation has ${most} turns that wait, which is the most.`);
}

/** What is known now of what a turn behind them is given: what each was asked. */
export function promptOfQueue({ prompt, turns }: Pick<TurnQueue, "prompt" | "turns">): Prompt {
  return [...prompt, ...turns.map(toAskedSegment)];
}
