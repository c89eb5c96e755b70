/* Conversations and their turns, as one name of the package, `conversations`. */
export { ConversationAccounts } from "./conversation-accounts.ts";
export {
  ConversationRows,
  type FoundConversation,
  type PlacedConversation,
  isOver,
} from "./conversation-rows.ts";
export { sweepConversations } from "./sweep-conversations.ts";
export { untilTurnEnded } from "./until-turn-ended.ts";
export { readWaitedTurns, type WaitedLogs, type WaitedTurns } from "./waited-turns.ts";
export { type CurrentLogs, foldTurn, type LoggedTurn, verifyPrompt } from "./verify-prompt.ts";
