import type { Socket } from "node:net";
import type { Server as TlsServer, TLSSocket } from "node:tls";
import type { Http2Connections } from "./http2.ts";

const tcpSockets = new WeakMap<Socket, Socket>();

/** The TCP connection under a TLS connection: only that one can be reset, and an end without a reset may look like the end of an answer. */
export function tcpSocketOf(socket: Socket): Socket {
  return tcpSockets.get(socket) ?? socket;
}

/** The TCP connections of a server that speaks TLS, of which Node's HTTP server knows nothing before the handshake is done. */
export class TlsConnections {
  readonly #handshaking = new Map<string, Socket>();

  /** @param http2 serves the connections whose clients choose HTTP/2 */
  constructor(server: TlsServer, http2: Pick<Http2Connections, "accept">) {
    // Node's HTTP/1.1, which takes each connection that is secure.
    const http1 = server.listeners("secureConnection") as ((socket: TLSSocket) => void)[];
    server.removeAllListeners("secureConnection");
    server.on("connection", (socket: Socket) => {
      const peer = peerOf(socket);
      this.#handshaking.set(peer, socket);
      socket.once("close", () => this.#handshaking.delete(peer));
    });
    server.on("secureConnection", (socket) => {
      const peer = peerOf(socket);
      const tcpSocket = this.#handshaking.get(peer);
      if (!tcpSocket) return;
      tcpSockets.set(socket, tcpSocket);
      this.#handshaking.delete(peer);
    });
    server.on("secureConnection", (socket) => {
      if (socket.alpnProtocol === "h2") http2.accept(socket);
      else for (const accept of http1) accept.call(server, socket);
    });
    // Before it becomes an HTTP client error: there is no way to answer a client without a handshake.
    server.prependListener("tlsClientError", (_error, socket) => void socket.destroy());
  }

  /** Closes connections whose handshake is not done: a server that closes would wait for them. */
  abortHandshakes(): void {
    for (const socket of this.#handshaking.values()) socket.destroy();
  }
}

function peerOf({ remoteAddress = "", remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
