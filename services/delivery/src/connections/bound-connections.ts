import { Server as HttpServer } from "node:http";
import type { Server, Socket } from "node:net";
import { RepriseError, toHttpStatus } from "@reprise/protocol";
import { endWith } from "./client-error.ts";
import { countedAddress } from "../http/counted-address.ts";

export interface ConnectionBounds {
  /** The most connections that one address may have open; 0 for no bound. */
  perAddress: number;
  /** Called for each connection that is refused. */
  onRefused: () => void;
}

/**
 * Refuses connections of an address that has too many: each costs a descriptor before the client has identified itself. The answer is sent unasked, since the
 * client's bytes are no longer read. Counts the address of the connection itself, which may be a proxy's: the forwarded address comes with a request, and may
 * be a different one with the next.
 */
export function boundConnections(server: Server, { perAddress, onRefused }: ConnectionBounds): void {
  if (perAddress === 0) return;
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    // A client that has left already has no address.
    if (socket.remoteAddress === undefined) return;
    const address = countedAddress(socket.remoteAddress);
    const count = open.get(address) ?? 0;
    if (count >= perAddress) {
      onRefused();
      // Only a client of HTTP/1.1 in the clear could read the answer.
      if (server instanceof HttpServer) refuse(socket, perAddress);
      else socket.destroy();
      return;
    }
    open.set(address, count + 1);
    socket.on("close", () => {
      const left = (open.get(address) ?? 1) - 1;
      if (left === 0) open.delete(address);
      else open.set(address, left);
    });
  });
}

function refuse(socket: Socket, perAddress: number): void {
  const message = `This address has ${perAddress} connections open, which is the most that it may have.`;
  const error = new RepriseError("overloaded", message, { retryAfterMs: 1_000 });
  endWith(socket, toHttpStatus(error.code), error);
  socket.destroy();
}
