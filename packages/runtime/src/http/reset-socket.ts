import type { Socket } from "node:net";

/**
 * Resets a connection (RST): its client knows that what came is incomplete. One whose own end is already on its way can only be
 * dropped: the system refuses the reset then, Node leaves the handle open for ever, and a process that has such a handle spins
 * when it ends.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
