import { RepriseError } from "@reprise/protocol";

const RETRY_MS = 1_000;

export function conversationBusy(message = "The conversation's last turn has not ended."): RepriseError {
  return new RepriseError("conversation_busy", message, { param: "conversation", retryAfterMs: RETRY_MS });
}
