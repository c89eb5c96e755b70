import type { Socket } from "node:net";
import { buildConnector } from "undici";

/** The connection was reset, written to when it was gone, or closed by the other side. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export interface ReusedConnections {
  readonly connect: buildConnector.connector;
  /** Whether a request failed because a connection broke that had carried an answer before. */
  wasBroken(error: unknown): boolean;
}

/**
 * Connects, and tells whose failure is a connection's that was kept alive. A server may close such a one, or die and come back,
 * in the moment in which the next request is written to it: the server has not read that request.
 */
export function trackReusedConnections(options: buildConnector.BuildOptions): ReusedConnections {
  const connect = buildConnector(options);
  const errors = new WeakSet<Error>();
  const track = (socket: Socket) =>
    socket.prependListener("error", (error: NodeJS.ErrnoException) => {
      // A first answer that breaks within its headers is taken for an earlier one's bytes; nothing of it was used.
      if (socket.bytesRead > 0 && BROKEN.has(error.code ?? "")) errors.add(error);
    });
  return {
    connect: (target, callback) =>
      connect(target, (...result) => {
        if (result[1]) track(result[1]);
        callback(...result);
      }),
    wasBroken: (error) => error instanceof Error && errors.has(error),
  };
}
