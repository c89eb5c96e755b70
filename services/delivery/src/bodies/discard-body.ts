import type { IncomingMessage } from "node:http";

/** How long a client may go on sending a body that was refused. */
export const DISCARD_MS = 5_000;

/**
 * Sees to the rest of a request that was answered from its headers. Its bytes are thrown away as they come: a connection that is
 * closed while bytes are under way is reset, and the client might lose the answer. A client that is not through in time is cut off.
 */
export function discardBody(request: IncomingMessage, discardMs: number): void {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers;
  if (request.complete || (length === "0" && encoding === undefined)) return;
  const cutOff = setTimeout(() => request.socket.destroy(), discardMs);
  request.once("close", () => clearTimeout(cutOff));
  request.resume();
}
