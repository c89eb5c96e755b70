import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { SSE_HEADERS } from "@reprise/protocol";
import { resetSocket } from "@reprise/runtime";
import { isInjected } from "../../connections/injected.ts";
import { tcpSocketOf } from "../../connections/tls-connections.ts";
import { encodeChunk, unwrapChunks } from "./native-sse-framing.ts";

/** Where a stream's bytes go: one client connection whose response has begun. */
export interface SseSocket {
  /** Sends a run of frames as the hub keeps them. Returns false when the client should be given time to read. */
  writeFrames(chunks: Buffer): boolean;
  /** Sends complete lines of our own: heartbeats, `retry:`, errors. */
  writeText(text: string): boolean;
  /** Sends all writes of the callback together: each separate write is a system call. */
  together(write: () => void): void;
  /** Ends the response in order: the client knows that the generation has ended. */
  end(): void;
  /** Breaks the connection, once what was written has left: the client knows that there is more, and comes back. */
  breakOff(): void;
  /** Calls `drained` when the client has been given time, and `closed` when the response is over, by either side. Called once. */
  listen(listener: SseSocketListener): void;
}

export interface SseSocketListener {
  drained(): void;
  closed(): void;
}

/**
 * Begins a `text/event-stream` response and takes over its socket. Frames are written to the socket itself: they hold their
 * chunk framing already, and going through the response would build it again for every reader.
 */
export function openSseSocket(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
): SseSocket {
  const { socket } = response;
  // The head leaves at the end of this tick, together with what there is to send.
  socket?.cork();
  process.nextTick(() => socket?.uncork());
  response.writeHead(status, { ...headers, ...SSE_HEADERS });
  response.flushHeaders();
  const isOwn = response.chunkedEncoding && !isInjected(response);
  return socket && isOwn ? new ChunkedSocket(response, socket) : new PlainSocket(response);
}

/** Ends the stream of a request that this process makes to itself, if it is broken off: no connection can be cut that would say so. */
export const BROKEN_OFF = "broken_off";

/** Milliseconds that a client may take to read its last bytes before it is cut off. */
const BREAK_OFF_MS = 2_000;

/** A class, because a node has one of these for each reader: closures in their place cost 400 bytes more. */
class ChunkedSocket implements SseSocket {
  readonly #response: ServerResponse;
  readonly #socket: Socket;

  constructor(response: ServerResponse, socket: Socket) {
    this.#response = response;
    this.#socket = socket;
  }

  writeFrames(chunks: Buffer): boolean {
    return this.#socket.write(chunks);
  }

  writeText(text: string): boolean {
    return this.#socket.write(encodeChunk(text));
  }

  together(write: () => void): void {
    this.#socket.cork();
    write();
    this.#socket.uncork();
  }

  end(): void {
    this.#response.end();
  }

  /** Without the last chunk, the end of the connection is an error to the client. */
  breakOff(): void {
    const socket = this.#socket;
    socket.destroySoon();
    const stuck = setTimeout(() => socket.destroy(), BREAK_OFF_MS);
    socket.on("close", () => clearTimeout(stuck));
  }

  listen(listener: SseSocketListener): void {
    const onDrain = () => listener.drained();
    this.#socket.on("drain", onDrain);
    this.#response.on("close", () => {
      // The socket outlives the response: the next request on it has a stream of its own.
      this.#socket.off("drain", onDrain);
      listener.closed();
    });
  }
}

/**
 * A response that frames its own bytes, or needs no framing. HTTP/1.0, as an old proxy speaks it: the body ends with the
 * connection, so only a reset says that it is incomplete. And a request that was sent ahead of the answers before it: it has
 * no socket until they have ended. And a request of this process to itself.
 */
class PlainSocket implements SseSocket {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    if (!response.chunkedEncoding && !isInjected(response)) resetOnHalfClose(response);
  }

  writeFrames(chunks: Buffer): boolean {
    const response = this.#response;
    let ready = true;
    response.cork();
    for (const frame of unwrapChunks(chunks)) ready = response.write(frame);
    response.uncork();
    return ready;
  }

  writeText(text: string): boolean {
    return this.#response.write(text);
  }

  together(write: () => void): void {
    write();
  }

  end(): void {
    this.#response.end();
  }

  breakOff(): void {
    const { socket } = this.#response;
    if (isInjected(this.#response)) this.#response.end(`event: ${BROKEN_OFF}\ndata: {}\n\n`);
    else if (socket) resetSocket(tcpSocketOf(socket));
    else this.#response.destroy();
  }

  listen(listener: SseSocketListener): void {
    this.#response.on("drain", () => listener.drained());
    this.#response.on("close", () => listener.closed());
  }
}

/** Node answers the end of the client's half with the end of ours, which would look like the end of the stream. */
function resetOnHalfClose(response: ServerResponse): void {
  const { socket } = response;
  socket?.prependOnceListener("end", () => {
    if (!response.writableEnded) resetSocket(tcpSocketOf(socket));
  });
}
