import type { Extension } from "../../extension.ts";
import { addConversationRoutes, CONVERSATION_PATHS } from "./conversation-routes.ts";
import { eraseResponse } from "./erase-response.ts";
import { openConversations } from "./open-conversations.ts";
import { placeAfter } from "./place-after.ts";
import { readWaitedUntil } from "./read-waited-until.ts";
import { createTurns } from "./create-turns.ts";

export const conversations: Extension = {
  open(options) {
    const node = openConversations(options);
    return {
      serve(ports) {
        const own = { ...ports, conversations: node };
        return {
          routes: { paths: CONVERSATION_PATHS, add: (app) => addConversationRoutes(app, own) },
          turns: createTurns(own),
          responseTurns: {
            placeAfter: (...asked) => placeAfter(own, ...asked),
            erase: (...asked) => eraseResponse(own, ...asked),
          },
          waitedUntil: (refs) => readWaitedUntil(own, refs),
        };
      },
      [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
    };
  },
};
