import type { Socket } from "node:net";
import { buildConnector } from "undici";

/** The connection was reset, written to when it was gone, or closed by the other side. */
const BROKEN = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

export interface ReusedConnections {
  readonly connect: buildConnector.connector;
  /** True if a request failed because a reused connection broke. */
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
        if (result[1]) skipContinue(track(result[1]));
        callback(...result);
      }),
    wasBroken: (error) => error instanceof Error && errors.has(error),
  };
}

/** A status that says nothing, and its headers. */
const CONTINUE = /^HTTP\/1\.[01] 100[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n/;
const H = 0x48;
/** Far above any such head. */
const LONGEST_HEAD = 1_024;

/** Takes `100 Continue` out of what is read: some servers send it unasked, and undici takes it for a bad response. */
function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => Buffer | null;
  socket.read = (size?: number): Buffer | null => {
    const bytes = read(size);
    if (bytes?.[0] !== H) return bytes;
    const [head] = CONTINUE.exec(bytes.toString("latin1", 0, LONGEST_HEAD)) ?? [];
    if (head === undefined) return bytes;
    return bytes.length > head.length ? bytes.subarray(head.length) : read();
  };
}
