import type { RequestListener, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** The most requests of one connection that may be unanswered at a time. */
export const MAX_UNANSWERED = 32;

/**
 * Breaks off a connection that sends requests far ahead of their answers. Node reads up to 2 MiB of a connection at a time and
 * begins with every request in it before the event loop turns: some 50,000 from one connection, and all others wait.
 * Call it when the server has its request listeners: they are not called for a connection that was broken off.
 */
export function boundPipelining(server: Server): void {
  const listeners = server.listeners("request") as RequestListener[];
  const unanswered = new WeakMap<Socket, number>();
  // Shared by all responses: a closure for each would be held for as long as its stream.
  const answered = function (this: ServerResponse) {
    const { socket } = this.req;
    unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1);
  };
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    const { socket } = request;
    // What the parser holds of a broken connection still comes.
    if (socket.destroyed) return;
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > MAX_UNANSWERED) {
      // Not a reset: that waits for answers to leave, and this client may not read.
      socket.destroy();
      return;
    }
    unanswered.set(socket, count);
    response.on("close", answered);
    for (const listener of listeners) listener(request, response);
  });
}
