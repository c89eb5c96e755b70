import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface ProxiedCall {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  /** With its query. */
  url: URL;
}

export interface ProxiedAnswer {
  status: number;
  readonly headers: IncomingHttpHeaders;
  /** An empty object if it is not a JSON object. Ignored for an event stream. */
  json: Record<string, unknown>;
}

export interface ProxiedFrame {
  /** The lines, without the blank one. */
  readonly lines: string;
  /** From 0, in its stream. */
  readonly index: number;
  /** The stream's number, from 0. */
  readonly stream: number;
  readonly call: ProxiedCall;
}

/** Changes to a correct server's traffic that break one requirement. */
export interface Break {
  readonly requirement: string;
  /** The server's behaviour. */
  readonly how: string;
  request?(call: ProxiedCall): void;
  /** Called for a stream too, before its first byte. */
  answer?(answer: ProxiedAnswer, call: ProxiedCall): void;
  /** Returns what is sent in the frame's place; undefined for nothing. */
  frame?(frame: ProxiedFrame): string | undefined;
  /** Ends each stream cleanly after this number of frames. */
  readonly endsAfter?: number;
  /** Cancels a generation when a reader of its stream leaves. */
  readonly cancelsOnLeave?: boolean;
}

export interface BreakingProxy extends AsyncDisposable {
  readonly url: string;
}

/** Starts a server that passes calls on to the origin, changed as the break says; without one, it changes nothing. */
export async function startBreakingProxy(origin: string, broken?: Break): Promise<BreakingProxy> {
  let streams = 0;
  const proxy = createServer((request, response) => {
    void pass(request, response).catch(() => response.destroy());
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = {
      method: request.method ?? "GET",
      headers: { ...request.headers },
      url: new URL(request.url ?? "/", origin),
    };
    const body = await buffer(request);
    broken?.request?.(call);
    const upstream = await send(call, body);
    const headers = { ...upstream.headers };
    for (const name of ["connection", "keep-alive", "transfer-encoding", "content-length"])
      delete headers[name];
    const answer: ProxiedAnswer = { status: upstream.statusCode ?? 0, headers, json: {} };
    if (headers["content-type"]?.startsWith("text/event-stream") === true) {
      broken?.answer?.(answer, call);
      passStream(upstream, response, { answer, call });
      return;
    }
    const bytes = await buffer(upstream);
    const json = parseObject(bytes.toString());
    if (json) answer.json = json;
    broken?.answer?.(answer, call);
    response.writeHead(answer.status, headers);
    response.end(json ? JSON.stringify(answer.json) : bytes);
  }

  function passStream(
    upstream: IncomingMessage,
    response: ServerResponse,
    { answer, call }: { readonly answer: ProxiedAnswer; readonly call: ProxiedCall },
  ): void {
    const stream = streams++;
    let index = 0;
    let unfinished = "";
    response.writeHead(answer.status, answer.headers);
    response.flushHeaders();
    upstream.setEncoding("utf8");
    upstream.on("data", (chunk: string) => {
      if (!broken?.frame && broken?.endsAfter === undefined) {
        response.write(chunk);
        return;
      }
      const blocks = (unfinished + chunk).split("\n\n");
      unfinished = blocks.pop()!;
      for (const lines of blocks) {
        const sent = broken.frame ? broken.frame({ lines, index, stream, call }) : lines;
        index++;
        if (sent !== undefined) response.write(`${sent}\n\n`);
        if (index !== broken.endsAfter) continue;
        response.end();
        upstream.destroy();
        return;
      }
    });
    upstream.on("error", () => undefined);
    upstream.on("close", () => {
      if (upstream.complete) response.end(unfinished);
      else if (!response.writableEnded) response.destroy();
    });
    response.on("close", () => {
      const left = !upstream.complete;
      upstream.destroy();
      const id = answer.headers["reprise-generation-id"] ?? call.url.pathname.split("/")[3];
      if (left && broken?.cancelsOnLeave === true)
        void fetch(new URL(`/v1/generations/${String(id)}/cancel`, origin), {
          method: "POST",
          headers: { authorization: call.headers.authorization ?? "" },
        }).then((cancelled) => cancelled.body?.cancel());
    });
  }

  await once(proxy.listen(0, "127.0.0.1"), "listening");
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      proxy.close();
      proxy.closeAllConnections();
      await once(proxy, "close");
    },
  };
}

async function send({ method, url, headers }: ProxiedCall, body: Buffer): Promise<IncomingMessage> {
  const kept = { ...headers, host: url.host };
  const request = httpRequest(url, { method, headers: kept, agent: false });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  request.on("response", resolve);
  request.on("error", reject);
  request.end(body);
  return promise;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
