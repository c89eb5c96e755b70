import type { IncomingMessage, ServerResponse } from "node:http";

/** True for a call that this process makes to itself, and for its answer: it has no connection. */
export function isInjected(message: IncomingMessage | ServerResponse): boolean {
  return "_lightMyRequest" in message;
}
