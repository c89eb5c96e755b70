export {
  type Conversation,
  type ConversationItem,
  type Conversations,
  conversationsOf,
} from "./conversations-of.ts";
export type { ConversationInput } from "@reprise/protocol/wire";
