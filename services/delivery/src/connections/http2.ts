import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import {
  constants,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";

/** The most requests and streams of one connection at a time. */
const MAX_STREAMS = 128;
/** Streams that a client may reset at once, and then per second: each costs the server a request (CVE-2023-44487). */
const RESETS = { streamResetBurst: 200, streamResetRate: 20 };
const MAX_INVALID_FRAMES = 100;
const SWEEP_MS = 1_000;

/** Timers of requests that are still to arrive. */
const arrivals = new WeakMap<ServerHttp2Stream, NodeJS.Timeout>();

export interface Http2Options {
  /** Answers a request. */
  readonly listener: RequestListener;
  /** Answers a CONNECT, which no route can. */
  readonly onConnect: (request: Http2ServerRequest, response: Http2ServerResponse) => void;
  /** Milliseconds that a request may take to arrive, and that a connection may be idle. */
  readonly arrivalMs: number;
  readonly maxHeaderBytes: number;
}

/** HTTP/2 connections, and the bounds that they have beside those of the TCP connections under them. */
export class Http2Connections {
  readonly #server;
  readonly #arrivalMs: number;
  /** Connections without a stream, with when their last one ended. */
  readonly #idleSinceMs = new Map<Http2Session, number>();
  readonly #streams = new Map<Http2Session, number>();
  readonly #sweep: NodeJS.Timeout;

  constructor({ listener, onConnect, arrivalMs, maxHeaderBytes }: Http2Options) {
    this.#arrivalMs = arrivalMs;
    this.#server = createServer({
      settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: maxHeaderBytes, enablePush: false },
      maxSessionInvalidFrames: MAX_INVALID_FRAMES,
      ...RESETS,
    });
    // Node's compatibility API has the same shape; where it differs, this file has a function for it.
    const answer = listener as unknown as (
      request: Http2ServerRequest,
      response: Http2ServerResponse,
    ) => void;
    this.#server.on("request", answer).on("checkContinue", answer).on("checkExpectation", answer);
    this.#server.on("connect", onConnect);
    this.#server.on("session", (session) => {
      this.#idleSinceMs.set(session, performance.now());
      session.on("error", () => {});
      session.once("close", () => {
        this.#idleSinceMs.delete(session);
        this.#streams.delete(session);
      });
    });
    this.#server.on("stream", (stream) => this.#begin(stream));
    this.#sweep = setInterval(() => this.#closeIdle(), Math.min(SWEEP_MS, arrivalMs)).unref();
  }

  /** Serves a connection whose client has chosen HTTP/2. */
  accept(socket: Socket): void {
    this.#server.emit("connection", socket);
  }

  /** True if a request is unanswered, or has an answer that has not been sent yet. */
  get hasStreams(): boolean {
    return this.#streams.size > 0;
  }

  /** Takes no further request on any connection (GOAWAY), and closes each when its streams have ended. */
  drain(): void {
    for (const session of [...this.#idleSinceMs.keys(), ...this.#streams.keys()]) session.close();
  }

  /** Cuts off what is left. */
  destroy(): void {
    clearInterval(this.#sweep);
    for (const session of [...this.#idleSinceMs.keys(), ...this.#streams.keys()]) session.destroy();
  }

  #begin(stream: ServerHttp2Stream): void {
    const { session } = stream;
    if (!session) return;
    this.#idleSinceMs.delete(session);
    this.#streams.set(session, (this.#streams.get(session) ?? 0) + 1);
    const late = stream.endAfterHeaders
      ? undefined
      : setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), this.#arrivalMs);
    if (late) arrivals.set(stream, late);
    stream.once("end", () => clearTimeout(late));
    stream.once("close", () => {
      clearTimeout(late);
      const left = (this.#streams.get(session) ?? 1) - 1;
      if (left > 0) this.#streams.set(session, left);
      else {
        this.#streams.delete(session);
        if (!session.destroyed) this.#idleSinceMs.set(session, performance.now());
      }
    });
  }

  /** A client that sends half a preface or half of its headers has no stream either, however often it sends another byte. */
  #closeIdle(): void {
    const endedBeforeMs = performance.now() - this.#arrivalMs;
    for (const [session, sinceMs] of this.#idleSinceMs) {
      if (sinceMs > endedBeforeMs) continue;
      session.close();
      session.destroy();
    }
  }
}

/** The stream under an HTTP/2 answer; undefined for HTTP/1.1. */
export function streamOf(response: object): ServerHttp2Stream | undefined {
  return response instanceof Http2ServerResponse ? response.stream : undefined;
}

/** Returns true if the client has disconnected before the answer began. */
export function hasLeft(response: ServerResponse): boolean {
  const stream = streamOf(response);
  return stream ? stream.destroyed || stream.closed : response.destroyed;
}

/** Cuts off the request alone over HTTP/2, otherwise its connection. */
export function cutOff(request: IncomingMessage): void {
  const stream = requestStreamOf(request);
  if (stream) stream.close(constants.NGHTTP2_CANCEL);
  else request.socket.destroy();
}

/** Returns the length of a request's body; undefined if the request does not declare it. */
export function bodyLengthOf(request: IncomingMessage): number | undefined {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (length !== undefined && encoding === undefined) return Number(length);
  const stream = requestStreamOf(request);
  const isEmpty = stream ? stream.endAfterHeaders : encoding === undefined;
  return isEmpty ? 0 : undefined;
}

/** Lets a client send for as long as its request is answered. */
export function mayStayOpen(request: IncomingMessage): void {
  const stream = requestStreamOf(request);
  if (stream) clearTimeout(arrivals.get(stream));
}

function requestStreamOf(request: object): ServerHttp2Stream | undefined {
  return request instanceof Http2ServerRequest ? request.stream : undefined;
}
