import type { Server } from "node:http";
import type { Socket } from "node:net";

export interface Answers {
  /** Whether a request is unanswered, or has an answer that has not left this process yet. */
  readonly unsent: boolean;
}

/**
 * Watches a server's answers from now on. Node takes a connection for idle as soon as its answer is complete, though most of
 * that may still wait for a slow client, and `closeIdleConnections`, which `close` calls too, cuts it off.
 */
export function watchResponses(server: Server): Answers {
  // By connection: an answer that was still waiting for its turn is never heard of again when its connection goes.
  const unsent = new Map<Socket, number>();
  const add = (socket: Socket, count: number) => {
    const before = unsent.get(socket);
    if (before !== undefined) unsent.set(socket, before + count);
  };
  server.on("connection", (socket: Socket) => {
    unsent.set(socket, 0);
    socket.once("close", () => unsent.delete(socket));
  });
  server.on("request", ({ socket }, response) => {
    add(socket, 1);
    response.once("close", () => add(socket, -1));
  });
  return {
    get unsent() {
      return unsent.values().some((count) => count > 0);
    },
  };
}
