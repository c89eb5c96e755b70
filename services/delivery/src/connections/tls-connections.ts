import type { Socket } from "node:net";
import type { Server as TlsServer } from "node:tls";

const tcpSockets = new WeakMap<Socket, Socket>();

/** The TCP connection under a TLS connection: only that one can be reset, and an end without a reset may look like the end of an answer. */
export function tcpSocketOf(socket: Socket): Socket {
  return tcpSockets.get(socket) ?? socket;
}

/** The TCP connections of a server that speaks TLS, of which Node's HTTP server knows nothing before the handshake is done. */
export class TlsConnections {
  readonly #handshaking = new Map<string, Socket>();

  constructor(server: TlsServer) {
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
