import type { Socket } from "node:net";

/**
 * Resets a connection (RST), as a crash or a firewall does. One whose own end is already on its way can only be dropped: the
 * system refuses the reset then, Node leaves the handle open, and a process that has such a handle spins for ever when it ends.
 */
export function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
