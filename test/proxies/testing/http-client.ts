import { once } from "node:events";
import { Agent, type IncomingHttpHeaders, request as httpRequest } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { text } from "node:stream/consumers";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The address that the connection comes from. */
  readonly localAddress?: string;
}

/** One request over a connection of its own, to the end of its answer. */
export async function send(
  url: string,
  { method = "GET", headers = {}, body, localAddress = "127.0.0.1" }: RequestOptions = {},
): Promise<Answer> {
  const request = httpRequest(url, { method, headers, localAddress, agent: new Agent() });
  // A refusal comes before all of a large body is sent, and may break its connection after the answer.
  request.on("error", () => {});
  request.end(body);
  const [response] = await once(request, "response");
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}

/** One connection over HTTP/2. */
export interface Http2Connection extends AsyncDisposable {
  readonly session: ClientHttp2Session;
  /** Opens an event stream and resolves with its headers and its first frame. */
  openStream(path: string, headers: Readonly<Record<string, string>>): Promise<Http2Stream>;
}

interface Http2Stream {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly first: string;
  /** Resolves with whether the stream ended whole. */
  readonly isWhole: Promise<boolean>;
}

export async function openHttp2(url: string, ca: string): Promise<Http2Connection> {
  const session = connectHttp2(url, { ca });
  session.on("error", () => {});
  await once(session, "connect");
  return {
    session,
    async openStream(path, headers) {
      const stream = session.request({ ":path": path, ...headers });
      stream.on("error", () => {});
      let hasEnded = false;
      stream.on("end", () => (hasEnded = true));
      const closed = once(stream, "close").catch(() => {});
      const isWhole = closed.then(() => hasEnded && stream.rstCode === 0);
      const [answered] = await once(stream, "response");
      let first = "";
      while (!first.includes("\n\n")) first += String((await once(stream, "data"))[0]);
      return { headers: answered as Record<string, unknown>, first, isWhole };
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}
