import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { TLSSocket } from "node:tls";
import { createSseDecoder, type SseMessage } from "@reprise/protocol";
import { resetSocket } from "@reprise/runtime";

export interface SseReaderOptions {
  method?: "GET" | "POST";
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** A cursor for `?after=`. */
  after?: string | undefined;
  /** A cursor for the `Last-Event-ID` header. */
  lastEventId?: string | undefined;
  /** The certificate of the authority to trust, in PEM. */
  ca?: string | undefined;
}

/** `clean`: the response was whole. `broken`: the connection ended before it was. `cut`: by this reader's own hand. */
export type SseEnd = "clean" | "broken" | "cut";

export interface SseReader extends AsyncDisposable, AsyncIterable<SseMessage> {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Port of this end of its connection. */
  readonly localPort: number;
  /** The body so far, as it came, without the transfer coding: heartbeats and unfinished frames too. */
  readonly bytes: Buffer;
  /** The whole frames so far. */
  readonly frames: readonly SseMessage[];
  /** The id that a client would resume with: the last frame's, "" before the first. */
  readonly lastEventId: string;
  /** Value of the server's last `retry:` line, in milliseconds. */
  readonly retryMs: number | undefined;
  /** Resolves, never rejects. */
  readonly ended: Promise<SseEnd>;
  /** The first frame that has not been asked for yet; undefined when the stream ends without one. */
  nextFrame(): Promise<SseMessage | undefined>;
  /** Stops taking bytes from the socket, as a slow reader does, until `resume()`. */
  pause(): void;
  resume(): void;
  /** Resets the connection, also in the middle of an event. */
  cut(): void;
}

/**
 * Opens an event stream over a connection of its own and resolves with its headers, for any status. It repairs nothing:
 * tests see what the server sent and how it ended.
 */
export async function openSseReader(url: string, options: SseReaderOptions = {}): Promise<SseReader> {
  const response = await send(url, options);
  const { localPort = 0 } = response.socket;
  const decoder = createSseDecoder();
  const chunks: Buffer[] = [];
  const frames: SseMessage[] = [];
  let asked = 0;
  let cutByUs = false;
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const announce = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };

  response.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    frames.push(...decoder.push(chunk));
    announce();
  });
  // "close" follows and tells more.
  response.on("error", () => {});
  const ended = new Promise<SseEnd>((resolve) => {
    response.on("close", () => {
      isOver = true;
      resolve(cutByUs ? "cut" : response.complete ? "clean" : "broken");
      announce();
    });
  });
  const cut = (): void => {
    if (isOver) return;
    cutByUs = true;
    // Only a plain socket can be reset; a TLS one can only be dropped.
    if (response.socket instanceof TLSSocket) response.socket.destroy();
    else resetSocket(response.socket);
  };
  const nextFrame = async (): Promise<SseMessage | undefined> => {
    while (asked === frames.length && !isOver) await news.promise;
    return frames[asked] && frames[asked++];
  };

  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    localPort,
    get bytes() {
      return Buffer.concat(chunks);
    },
    frames,
    get lastEventId() {
      return frames.at(-1)?.id ?? "";
    },
    get retryMs() {
      return decoder.retryMs;
    },
    ended,
    nextFrame,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    cut,
    async *[Symbol.asyncIterator]() {
      for (let frame = await nextFrame(); frame; frame = await nextFrame()) yield frame;
    },
    async [Symbol.asyncDispose]() {
      cut();
      await ended;
    },
  };
}

async function send(
  url: string,
  { method = "GET", headers, body, after, lastEventId, ca }: SseReaderOptions,
): Promise<IncomingMessage> {
  const target = new URL(url);
  if (after !== undefined) target.searchParams.set("after", after);
  const open = target.protocol === "https:" ? httpsRequest : httpRequest;
  const request = open(target, {
    method,
    agent: false,
    ...(ca !== undefined && { ca }),
    headers: {
      accept: "text/event-stream",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      ...headers,
    },
  });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, "response")) as [IncomingMessage];
  // After the headers a broken connection is the response's business, but the request reports it too.
  request.on("error", () => {});
  return response;
}
