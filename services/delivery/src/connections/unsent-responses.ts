import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Server as TlsServer } from "node:tls";

export interface Answers {
  /** True if a request is unanswered, or has an answer that has not left this process yet. */
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
  // Shared by all connections: a closure for each would be held for as long as its stream.
  const forget = function (this: Socket) {
    unsent.delete(this);
  };
  const sent = function (this: ServerResponse) {
    add(this.req.socket, -1);
  };
  // Of TLS, requests name the TLS connection.
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    unsent.set(socket, 0);
    socket.on("close", forget);
  });
  server.on("request", ({ socket }, response) => {
    add(socket, 1);
    response.on("close", sent);
  });
  return {
    get unsent() {
      return unsent.values().some((count) => count > 0);
    },
  };
}
