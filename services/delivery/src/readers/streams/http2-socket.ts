import type { ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import { SSE_HEADERS } from "@reprise/protocol";
import { streamOf } from "../../connections/http2.ts";
import { unwrapChunks } from "./native-sse-framing.ts";
import type { SseSocket, SseSocketListener } from "./sse-socket.ts";

/** Milliseconds that a client may take to read its last bytes before it is cut off. */
const BREAK_OFF_MS = 2_000;
const NOTHING = Buffer.alloc(0);

/** Begins a `text/event-stream` response on a stream of HTTP/2; undefined where the response is of HTTP/1.1. */
export function openHttp2Socket(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
): SseSocket | undefined {
  const stream = streamOf(response);
  if (!stream) return undefined;
  response.writeHead(status, { ...headers, ...SSE_HEADERS });
  return new Http2Socket(stream);
}

/**
 * A stream of an HTTP/2 connection. HTTP/2 frames its own bytes, so the chunks around the hub's frames are taken off; flow control of the
 * stream is what holds a slow reader back. Only a reset with an error says that the stream is incomplete: `destroy` without one ends it cleanly.
 */
class Http2Socket implements SseSocket {
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
  }

  writeFrames(chunks: Buffer): boolean {
    const stream = this.#stream;
    let ready = true;
    stream.cork();
    for (const frame of unwrapChunks(chunks)) ready = stream.write(frame);
    stream.uncork();
    return ready;
  }

  writeText(text: string): boolean {
    return this.#stream.write(text);
  }

  together(write: () => void): void {
    write();
  }

  end(): void {
    this.#stream.end();
  }

  breakOff(): void {
    const stream = this.#stream;
    const reset = () => stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    const stuck = setTimeout(reset, BREAK_OFF_MS);
    stream.once("close", () => clearTimeout(stuck));
    // A reset overtakes what is still to be written.
    stream.write(NOTHING, reset);
  }

  listen(listener: SseSocketListener): void {
    this.#stream.on("drain", () => listener.drained());
    this.#stream.on("error", () => {});
    this.#stream.on("close", () => listener.closed());
  }
}
